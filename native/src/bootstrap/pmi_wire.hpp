// SPDX-License-Identifier: Apache-2.0
// Requests of a process to a launcher that speaks PMI, and its answers. Version 1 has lines of words "key=value",
// version 2 has six digits of a length and then "key=value;", PMIx is called in a library. One request is answered
// before the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/meanwhile.hpp"
#include "bootstrap/pmi_settings.hpp"

namespace lci {

/// After an error the two sides are out of step, so nothing more can be asked.
class PmiWire {
 public:
  virtual ~PmiWire() = default;

  virtual int join(uint64_t deadline_ns) = 0;
  /// Where only a launcher that has been joined tells them; else they stay as they are.
  virtual void tell_place(uint32_t* rank, uint32_t* size) const { (void)rank, (void)size; }
  /// Characters that a value may have.
  virtual size_t longest_value() const = 0;
  virtual int put(const std::string& key, std::string_view value, uint64_t deadline_ns) = 0;
  /// Waits for the same call of all processes; then they read what any of them has put before.
  virtual int fence(uint64_t deadline_ns, const Meanwhile& meanwhile) = 0;
  /// What rank @p from has put; nothing if it has not put the key.
  virtual int get(uint32_t from, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) = 0;
  /// A launcher takes a process that has joined, and ends without this, for one that has failed.
  virtual int leave(uint64_t deadline_ns) = 0;
};

std::unique_ptr<PmiWire> new_pmi1_wire(int fd);
std::unique_ptr<PmiWire> new_pmi2_wire(int fd, uint32_t rank, const std::string& job);
std::unique_ptr<PmiWire> new_pmix_wire(const std::string& library);

/// The words of an answer.
class PmiAnswer {
 public:
  PmiAnswer(std::string text, char separator) : text_(std::move(text)), separator_(separator) {}

  std::optional<std::string_view> word(std::string_view key) const;
  bool is(std::string_view command) const { return word("cmd") == command; }
  bool succeeded() const { return word("rc") == "0"; }
  /// LCI_ERR_BOOTSTRAP, with the answer as far as it can be printed, and may be: without a value.
  int refuse(const char* title, const char* asked) const;

 private:
  std::string text_;
  char separator_;
};

}  // namespace lci
