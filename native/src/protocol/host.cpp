// SPDX-License-Identifier: Apache-2.0
#include "protocol/host.hpp"

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "protocol/link.hpp"

namespace lci {
namespace {

/// Nothing is posted out of the backlog for as long as this lives: a handler's posts are new ones.
class Pause {
 public:
  explicit Pause(const Queued*& retrying) : retrying_(retrying), before_(std::exchange(retrying, nullptr)) {}
  ~Pause() { retrying_ = before_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  const Queued*& retrying_;
  const Queued* const before_;
};

}  // namespace

bool ProtocolHost::complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size,
                            bool received) {
  if (target.forgotten) return false;
  counters.add(Metric::signals);
  bool heard = true;
  if (target.completion) {
    heard = target.completion->stores();
    const lci_status status{code, rank, tag, buffer, size, target.context, 0, 0};
    const Pause paused(retrying);
    int refused = LCI_ERR_NO_MEMORY;
    static_cast<void>(unless_no_memory([&] { refused = target.completion->signal_held(status); }));
    if (refused == LCI_ERR_OVERRUN || refused == LCI_ERR_NO_MEMORY) {  // there was no room for it
      counters.add(Metric::signals, -1);
      counters.add(Metric::signals_dropped);
      heard = false;
    } else if (refused != LCI_DONE) {
      parts.shared.add(Metric::discarded);
      heard = false;
    }
  } else if (target.lane) {
    heard = target.lane->operation_ended(&device, code, rank, tag, size, target.context, received ? buffer : nullptr);
  }
  target.ended_by(outstanding);
  return heard;
}

void ProtocolHost::protocol_error(Link& link, const char* what, const MessageHeader& header) {
  link.broken = true;
  counters.add(Metric::protocol_errors);
  fail(LCI_ERR_PROTOCOL,
       "rank %u sent bytes that make no sense: %s (kind %u, target %u, size %u); it is treated as failed", link.rank,
       what, static_cast<unsigned>(header.kind), header.target, header.size);
  LCI_LOG(parts.log, LogLevel::kError, "protocol", "%s", last_error());
  parts.peers.treat_as_gone(link.rank, RankState::kFailed);
}

}  // namespace lci
