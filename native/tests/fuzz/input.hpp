// SPDX-License-Identifier: Apache-2.0
// The bytes of one run, taken from the front; zeros when there are no more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lci_fuzz {

/// What must hold whatever the input is. The fuzzer reports the abort with its input.
#define FUZZ_EXPECT(condition) \
  do {                         \
    if (!(condition)) abort(); \
  } while (false)

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  void copy(void* to, size_t size) {
    const size_t part = std::min(size, left_);
    if (part != 0) std::memcpy(to, data_, part);
    std::memset(static_cast<char*>(to) + part, 0, size - part);
    data_ += part;
    left_ -= part;
  }
  template <typename T>
  T number() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  /// A length (one byte), then so many bytes.
  std::string text() {
    std::string result(std::min<size_t>(number<uint8_t>(), left_), '\0');
    copy(result.data(), result.size());
    return result;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace lci_fuzz
