// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/pmi_pipe.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace lci {
namespace {

/// The standard has 1024 for a value, with what ends it.
constexpr size_t kLongestPmi2Value = 1000;
constexpr size_t kLengthDigits = 6;

/// The length of a request; all requests are short.
std::string length_of(const std::string& request) {
  const std::string digits = std::to_string(request.size());
  return std::string(kLengthDigits - digits.size(), ' ') + digits;
}

/// Hydra puts blanks before a number, Slurm behind it.
std::string_view trim(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

class Pmi2Wire final : public PmiWire {
 public:
  Pmi2Wire(int fd, uint32_t rank, const std::string& job)
      : pipe_(fd, PmiSettings::title(PmiVersion::k2)), rank_(rank), job_(job.empty() ? "lci" : job) {}

  int join(uint64_t deadline_ns) override;
  size_t longest_value() const override { return kLongestPmi2Value; }
  int put(const std::string& key, std::string_view value, uint64_t deadline_ns) override {
    return demand("kvs-put", "key=" + key + ";value=" + std::string(value) + ";", deadline_ns);
  }
  int fence(uint64_t deadline_ns, const Meanwhile& meanwhile) override {
    const PmiPipe::Waiting waiting(pipe_, meanwhile);
    return demand("kvs-fence", "", deadline_ns);
  }
  int get(uint32_t from, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) override;
  int leave(uint64_t deadline_ns) override { return demand("finalize", "", deadline_ns); }

 private:
  int greet(uint64_t deadline_ns);
  int ask(const std::string& command, const std::string& words, uint64_t deadline_ns, PmiAnswer* out);
  int demand(const std::string& command, const std::string& words, uint64_t deadline_ns) {
    PmiAnswer got("", ';');
    return ask(command, words, deadline_ns, &got);
  }

  PmiPipe pipe_;
  const uint32_t rank_;
  const std::string job_;
};

/// The first words are those of version 1, by which both sides agree on version 2.
int Pmi2Wire::greet(uint64_t deadline_ns) {
  std::string line;
  int code = pipe_.send("cmd=init pmi_version=2 pmi_subversion=0\n", deadline_ns);
  if (code == LCI_DONE) code = pipe_.read_line(deadline_ns, &line);
  if (code != LCI_DONE) return code;
  const PmiAnswer got(std::move(line), ' ');
  const bool right = got.is("response_to_init") && got.succeeded() && got.word("pmi_version") == "2";
  return right ? LCI_DONE : got.refuse(pipe_.title(), "init");
}

int Pmi2Wire::join(uint64_t deadline_ns) {
  if (const int code = greet(deadline_ns); code != LCI_DONE) return code;
  return demand("fullinit", "pmijobid=" + job_ + ";pmirank=" + std::to_string(rank_) + ";threaded=FALSE;", deadline_ns);
}

int Pmi2Wire::ask(const std::string& command, const std::string& words, uint64_t deadline_ns, PmiAnswer* out) {
  const std::string request = "cmd=" + command + ";" + words;
  std::string text;
  int code = pipe_.send(length_of(request) + request, deadline_ns);
  if (code == LCI_DONE) code = pipe_.read_bytes(kLengthDigits, deadline_ns, &text);
  if (code != LCI_DONE) return code;
  const auto size = parse_decimal<uint32_t>(trim(text));
  if (!size) return PmiAnswer(text, ';').refuse(pipe_.title(), command.c_str());
  code = pipe_.read_bytes(*size, deadline_ns, &text);
  if (code != LCI_DONE) return code;
  *out = PmiAnswer(std::move(text), ';');
  return out->is(command + "-response") && out->succeeded() ? LCI_DONE : out->refuse(pipe_.title(), command.c_str());
}

int Pmi2Wire::get(uint32_t, const std::string& key, uint64_t deadline_ns, std::optional<std::string>* out) {
  PmiAnswer got("", ';');
  const std::string words = "jobid=" + job_ + ";srcid=-1;key=" + key + ";";
  if (const int code = ask("kvs-get", words, deadline_ns, &got); code != LCI_DONE) return code;
  const auto found = got.word("found"), value = got.word("value");
  if ((found != "TRUE" && found != "FALSE") || (found == "TRUE" && !value)) return got.refuse(pipe_.title(), "kvs-get");
  out->reset();
  if (found == "TRUE") *out = std::string(*value);
  return LCI_DONE;
}

}  // namespace

std::unique_ptr<PmiWire> new_pmi2_wire(int fd, uint32_t rank, const std::string& job) {
  return std::make_unique<Pmi2Wire>(fd, rank, job);
}

}  // namespace lci
