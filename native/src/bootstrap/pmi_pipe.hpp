// SPDX-License-Identifier: Apache-2.0
// Bytes to and from a launcher, each call with a deadline and a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bootstrap/meanwhile.hpp"

namespace lci {

/// LCI_ERR_TIMEOUT when a deadline passes, LCI_ERR_BOOTSTRAP when the launcher ends the connection or says too much.
class PmiPipe {
 public:
  /// Far more than any answer has.
  static constexpr size_t kLongestAnswer = 8192;

  /// Errors begin with @p title.
  PmiPipe(int fd, const char* title) : fd_(fd), title_(title) {}
  const char* title() const { return title_; }

  /// While it lives, whoever reads does something in between.
  class Waiting {
   public:
    Waiting(PmiPipe& pipe, const Meanwhile& meanwhile) : pipe_(pipe) { pipe_.meanwhile_ = &meanwhile; }
    ~Waiting() { pipe_.meanwhile_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PmiPipe& pipe_;
  };

  int send(std::string_view bytes, uint64_t deadline_ns);
  /// Up to a line feed, which is left out.
  int read_line(uint64_t deadline_ns, std::string* out);
  int read_bytes(size_t count, uint64_t deadline_ns, std::string* out);

 private:
  int receive(uint64_t deadline_ns);
  int late() const;
  int ended(int error) const;
  int too_long() const;
  void take(size_t count, size_t skipped, std::string* out);

  const int fd_;
  const char* const title_;
  const Meanwhile* meanwhile_ = nullptr;
  std::string received_;  // at most kLongestAnswer, and what one call reads
};

}  // namespace lci
