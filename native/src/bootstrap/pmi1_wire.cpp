// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/pmi_pipe.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace lci {
namespace {

/// Some launchers read no longer lines.
constexpr size_t kLongestLine = 1024, kLongestKey = 64, kLongestName = 256;

class Pmi1Wire final : public PmiWire {
 public:
  explicit Pmi1Wire(int fd) : pipe_(fd, PmiSettings::title(PmiVersion::k1)) {}

  int join(uint64_t deadline_ns) override;
  size_t longest_value() const override { return longest_value_; }
  int put(const std::string& key, std::string_view value, uint64_t deadline_ns) override;
  int fence(uint64_t deadline_ns, const Meanwhile& meanwhile) override {
    const PmiPipe::Waiting waiting(pipe_, meanwhile);
    return demand("barrier_in", "", "barrier_out", false, deadline_ns);
  }
  int get(uint32_t from, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) override;
  int leave(uint64_t deadline_ns) override { return demand("finalize", "", "finalize_ack", false, deadline_ns); }

 private:
  int ask(const char* command, const std::string& words, const char* answer, uint64_t deadline_ns, PmiAnswer* out);
  int demand(const char* command, const std::string& words, const char* answer, bool has_code, uint64_t deadline_ns);
  int read_limits(uint64_t deadline_ns);
  int read_name(uint64_t deadline_ns);
  std::string words(const std::string& key) const { return " kvsname=" + name_ + " key=" + key; }

  PmiPipe pipe_;
  std::string name_;  // of the launcher's store
  size_t longest_value_ = 0;
};

int Pmi1Wire::ask(const char* command, const std::string& words, const char* answer, uint64_t deadline_ns,
                  PmiAnswer* out) {
  std::string line;
  int code = pipe_.send("cmd=" + std::string(command) + words + "\n", deadline_ns);
  if (code == LCI_DONE) code = pipe_.read_line(deadline_ns, &line);
  if (code != LCI_DONE) return code;
  *out = PmiAnswer(std::move(line), ' ');
  return out->is(answer) ? LCI_DONE : out->refuse(pipe_.title(), command);
}

/// Some answers need no code; if they have one, it counts.
int Pmi1Wire::demand(const char* command, const std::string& words, const char* answer, bool has_code,
                     uint64_t deadline_ns) {
  PmiAnswer got("", ' ');
  if (const int code = ask(command, words, answer, deadline_ns, &got); code != LCI_DONE) return code;
  const bool failed = has_code || got.word("rc") ? !got.succeeded() : false;
  return failed ? got.refuse(pipe_.title(), command) : LCI_DONE;
}

int Pmi1Wire::join(uint64_t deadline_ns) {
  int code = demand("init", " pmi_version=1 pmi_subversion=1", "response_to_init", true, deadline_ns);
  if (code == LCI_DONE) code = read_name(deadline_ns);
  if (code == LCI_DONE) code = read_limits(deadline_ns);
  return code;
}

int Pmi1Wire::read_name(uint64_t deadline_ns) {
  PmiAnswer got("", ' ');
  if (const int code = ask("get_my_kvsname", "", "my_kvsname", deadline_ns, &got); code != LCI_DONE) return code;
  const auto name = got.word("kvsname");
  if (!name || name->empty() || name->size() > kLongestName) return got.refuse(pipe_.title(), "get_my_kvsname");
  name_ = *name;
  return LCI_DONE;
}

int Pmi1Wire::read_limits(uint64_t deadline_ns) {
  PmiAnswer got("", ' ');
  if (const int code = ask("get_maxes", "", "maxes", deadline_ns, &got); code != LCI_DONE) return code;
  const auto key = parse_decimal<uint32_t>(got.word("keylen_max").value_or(""));
  const auto value = parse_decimal<uint32_t>(got.word("vallen_max").value_or(""));
  if (!key || *key < kLongestKey || !value || *value < kLongestKey) return got.refuse(pipe_.title(), "get_maxes");
  const std::string most = "cmd=put" + words(std::string(kLongestKey, 'k')) + " value=\n";
  longest_value_ = std::min<size_t>(*value - 1, kLongestLine - most.size());  // some count a zero at its end
  return LCI_DONE;
}

int Pmi1Wire::put(const std::string& key, std::string_view value, uint64_t deadline_ns) {
  return demand("put", words(key) + " value=" + std::string(value), "put_result", true, deadline_ns);
}

int Pmi1Wire::get(uint32_t, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) {
  PmiAnswer got("", ' ');
  if (const int code = ask("get", words(key), "get_result", deadline_ns, &got); code != LCI_DONE) return code;
  const auto value = got.word("value");
  if (!got.word("rc") || (got.succeeded() && !value)) return got.refuse(pipe_.title(), "get");
  out->reset();
  if (got.succeeded()) *out = std::string(*value);
  return LCI_DONE;
}

}  // namespace

std::unique_ptr<PmiWire> new_pmi1_wire(int fd) {
  return std::make_unique<Pmi1Wire>(fd);
}

}  // namespace lci
