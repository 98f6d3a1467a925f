// SPDX-License-Identifier: Apache-2.0
// Put and get through messages as their initiator sees them. [C4-C7, 2B-18]
#include <utility>

#include "device/device.hpp"

namespace lci {

void Device::stream_put(Link& link, const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target,
                        const SignalRight& signal) {
  auto context = std::make_unique<SendContext>();
  SendContext& put = *context;
  put.kind = SendContext::Kind::kPut;
  put.target = target;
  put.link = &link;
  put.ranges = ranges_of(copy);
  const bool ours = backlog_.retrying() && !backlog_.retrying()->payload.empty();
  if ((op.flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_BUFFER || ours) {  // it does not stay where it is
    put.owned.assign(copy.one.local, copy.one.local + copy.size);
    put.ranges.back().local = put.owned.data();
  } else if (!(op.flags & LCI_FLAG_LIST)) {
    put.data = copy.one.local;
  }
  put.size = copy.size;
  put.tag = op.tag;
  put.signal = signal;
  put.streaming = true;
  put.id = sends_.add(std::move(context));
  counters.set(Metric::sends_pending, sends_live());
  const bool alone = link.streams.empty();
  if (alone && stream_chunk(link, put) && put.sent == put.size) return;
  link.streams.push_back(&put);
  links_.make_busy(link);
  unfinished_ = true;
}

void Device::start_get(Link& link, const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target,
                       const SignalRight& signal) {
  auto context = std::make_unique<ReceiveContext>();
  ReceiveContext& get = *context;
  get.target = target;
  get.link = &link;
  get.tag = op.tag;
  get.is_get = true;
  get.signal = signal;
  get.posted_size = copy.size;
  if (!(op.flags & LCI_FLAG_LIST)) get.posted_buffer = copy.one.local;
  get.ranges = ranges_of(copy);
  get.id = receives_.add(std::move(context));
  begin_next_part(get);
}

/// False: there is none. The peer is asked for one range after the other, so a list is one get under way at it.
bool Device::begin_next_part(ReceiveContext& get) {
  if (get.ranges.empty()) return false;
  const RemoteRange range = get.ranges.back();
  get.ranges.pop_back();
  get.buffer = range.local;
  get.capacity = get.size = range.size;
  get.access = range.access;
  get.received = 0;
  if (ask(*get.link, get)) return true;
  get.link->asks.push_back(get.id);
  links_.make_busy(*get.link);
  return true;
}

bool Device::ask(Link& link, const ReceiveContext& get) {
  return links_.emit_data(link, {MessageKind::kGet, 0, 0, 0, 0, get.size, get.id}, &get.access, sizeof get.access);
}

bool Device::flush_asks(Link& link) {
  bool moved = false;
  while (!link.asks.empty()) {
    const ReceiveContext* get = receives_.find(link.asks.back());
    if (get && !ask(link, *get)) {
      link.wants_room = true;
      return moved;
    }
    link.asks.pop_back();
    moved = true;
  }
  return moved;
}

}  // namespace lci
