// SPDX-License-Identifier: Apache-2.0
// The posting table: eight rows, by both forms, with every protocol and every option that goes with it.
#include <deque>

#include <algorithm>

#include "conformance/windows.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kLongest = 20'000;  // by rendezvous; the others inline, and in a packet
constexpr uint32_t kSizes[] = {0, 8, 1000, kLongest};

enum class Row { kSend, kAm, kPut, kPutSignal, kReceive, kGet, kGetSignal };
constexpr Row kRows[] = {Row::kSend, Row::kAm, Row::kPut, Row::kPutSignal, Row::kReceive, Row::kGet, Row::kGetSignal};
constexpr uint8_t kOptions[] = {0, LCI_FLAG_SIGNAL, LCI_FLAG_NO_RETRY, LCI_FLAG_SIGNAL | LCI_FLAG_NO_RETRY,
                                LCI_FLAG_NETWORK};

struct Case {
  Row row;
  uint32_t size;
  bool thin;  // the form without options
  uint8_t flags;
};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const Row row : kRows) {
    for (const uint32_t size : kSizes) {
      all.push_back({row, size, true, 0});
      for (const uint8_t flags : kOptions) all.push_back({row, size, false, flags});
    }
  }
  return all;
}

/// Each rank does every case to the rank `distance` further on, and has it done by the one before.
class Table {
 public:
  Table(World& world, uint32_t distance)
      : world_(world),
        port_(static_cast<uint16_t>(9 + distance)),
        to_((world.rank() + distance) % world.size()),
        from_((world.rank() + world.size() - distance) % world.size()),
        cases_(all_cases()),
        window_(world, cases_.size() * kLongest),
        inbox_(world.queue()),
        ended_(world.queue()),
        ends_(cases_.size()),
        matched_(cases_.size()) {
    world.open_port(port_, inbox_);
    for (size_t id = 0; id < cases_.size(); ++id) {
      bytes_.push_back(pattern(cases_[id].size, world.rank() + id));
      places_.emplace_back(cases_[id].size);
      if (is(id, Row::kGet) || is(id, Row::kGetSignal)) {
        std::copy(bytes_[id].begin(), bytes_[id].end(), window_.mine() + id * kLongest);
      }
    }
    world.barrier();
  }

  void run() {
    for (size_t id = 0; id < cases_.size(); ++id) {
      if (is(id, Row::kSend)) take(id);
      if (is(id, Row::kReceive) && id % 2 == 0) post(id);  // before its message, by turns
    }
    for (size_t id = 0; id < cases_.size(); ++id) {
      if (is(id, Row::kReceive)) {
        give(id);
      } else {
        post(id);
      }
    }
    for (size_t id = 0; id < cases_.size(); ++id) {
      if (is(id, Row::kReceive) && id % 2 == 1) post(id);
    }
    collect();
    world_.barrier();
    check();
    EXPECT_EQ(LCI_DONE, lci_port_close(world_.runtime(), port_));
    world_.barrier();
  }

 private:
  bool is(size_t id, Row row) const { return cases_[id].row == row; }
  bool signals(size_t id) const { return is(id, Row::kPutSignal) || is(id, Row::kGetSignal); }

  lci_descriptor describe(size_t id) {
    const Case& each = cases_[id];
    const bool in = is(id, Row::kReceive) || is(id, Row::kGet) || is(id, Row::kGetSignal);
    static constexpr uint8_t kOps[] = {LCI_OP_SEND, LCI_OP_AM,  LCI_OP_PUT, LCI_OP_PUT,
                                       LCI_OP_RECV, LCI_OP_GET, LCI_OP_GET};
    const void* local = in ? places_[id].data() : bytes_[id].data();
    const bool port = is(id, Row::kAm) || signals(id);
    lci_descriptor op = operation(kOps[static_cast<int>(each.row)], is(id, Row::kReceive) ? from_ : to_,
                                  port ? port_ : 0, id, each.size == 0 ? nullptr : local, each.size, id);
    op.flags |= each.flags;
    if (op.op == LCI_OP_PUT || op.op == LCI_OP_GET) {
      op.u.ref.remote = window_.of(to_);
      op.u.ref.displacement = id * kLongest;
    }
    return op;
  }

  int post_thin(const lci_descriptor& op, lci_status* out) {
    lci_device* device = world_.device();
    const void* local = reinterpret_cast<const void*>(op.u.ref.address);
    auto* place = reinterpret_cast<void*>(op.u.ref.address);
    switch (op.op) {
      case LCI_OP_AM:
        return lci_post_am(device, op.rank, op.port, op.tag, local, op.size, ended_, op.user_context);
      case LCI_OP_SEND:
        return lci_post_send(device, op.rank, op.tag, local, op.size, ended_, op.user_context);
      case LCI_OP_RECV:
        return lci_post_recv(device, op.rank, op.tag, place, op.size, ended_, op.user_context, out);
      case LCI_OP_PUT:
        return op.port == 0 ? lci_post_put(device, op.rank, local, op.size, op.u.ref.remote, op.u.ref.displacement,
                                           ended_, op.user_context)
                            : lci_post_put_signal(device, op.rank, local, op.size, op.u.ref.remote,
                                                  op.u.ref.displacement, op.port, op.tag, ended_, op.user_context);
      default:
        return op.port == 0 ? lci_post_get(device, op.rank, place, op.size, op.u.ref.remote, op.u.ref.displacement,
                                           ended_, op.user_context)
                            : lci_post_get_signal(device, op.rank, place, op.size, op.u.ref.remote,
                                                  op.u.ref.displacement, op.port, op.tag, ended_, op.user_context);
    }
  }

  void post(size_t id) {
    const Case& each = cases_[id];
    const lci_descriptor op = describe(id);
    lci_status done = LCI_STATUS_INIT;
    int code = LCI_RETRY;
    if (each.thin) {
      world_.until([&] { return !is_retry(code = post_thin(op, &done)); });
    } else {
      code = world_.post(op, ended_, &done);
    }
    SCOPED_TRACE("case " + std::to_string(id) + ", row " + std::to_string(static_cast<int>(each.row)) + ", " +
                 std::to_string(each.size) + " bytes, flags " + std::to_string(each.flags));
    ASSERT_LE(code, LCI_POSTED_BACKLOG) << lci_last_error();
    if (code >= LCI_POSTED) {
      ++posted_;
      return;
    }
    EXPECT_FALSE(each.flags & LCI_FLAG_SIGNAL) << "done although a signal was asked for";
    ++ends_[id];
    if (!each.thin || is(id, Row::kReceive)) check_end(id, done);
  }

  /// A receive for a case whose row is a send.
  void take(size_t id) {
    const auto op = operation(LCI_OP_RECV, from_, 0, id, places_[id].data(), cases_[id].size, cases_.size() + id);
    lci_status done = LCI_STATUS_INIT;
    const int code = world_.post(op, ended_, &done);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    posted_ += code == LCI_POSTED;
    matched_[id] += code == LCI_DONE;
  }
  /// A send for a case whose row is a receive.
  void give(size_t id) {
    const auto op = operation(LCI_OP_SEND, to_, 0, id, bytes_[id].data(), cases_[id].size, cases_.size() + id);
    const int code = world_.post(op, ended_);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    posted_ += code == LCI_POSTED;
    matched_[id] += code == LCI_DONE;
  }

  void collect() {
    size_t arrivals = 0;
    for (size_t id = 0; id < cases_.size(); ++id) arrivals += is(id, Row::kAm) || signals(id);
    for (; arrivals != 0; --arrivals) arrive(world_.pop(inbox_));
    for (; posted_ != 0; --posted_) {
      const lci_status status = world_.pop(ended_);
      const uint64_t id = status.user_context % cases_.size();
      ++(status.user_context < cases_.size() ? ends_ : matched_)[id];
      if (status.user_context < cases_.size()) check_end(id, status);
    }
  }

  void arrive(lci_status status) {
    ASSERT_LT(status.tag, cases_.size());
    const size_t id = status.tag;
    EXPECT_EQ(from_, status.rank);
    EXPECT_EQ(port_, status.port);
    EXPECT_EQ(0u, status.user_context) << "the sender's is the sender's";
    ++matched_[id];
    if (signals(id)) {
      EXPECT_EQ(nullptr, status.buffer);
      EXPECT_EQ(0u, status.size);
    } else {
      ASSERT_TRUE(is(id, Row::kAm));
      const Bytes expected = pattern(cases_[id].size, from_ + id);
      ASSERT_EQ(expected.size(), status.size);
      EXPECT_EQ(0, compare(expected.data(), status.buffer, status.size));
    }
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world_.runtime(), &status));
  }

  void check_end(size_t id, const lci_status& status) {
    SCOPED_TRACE("case " + std::to_string(id));
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(is(id, Row::kReceive) ? from_ : to_, status.rank);
    const bool no_tag = cases_[id].thin && (is(id, Row::kPut) || is(id, Row::kGet));  // the thin forms take none
    EXPECT_EQ(no_tag ? 0 : id, status.tag);
    EXPECT_EQ(cases_[id].size, status.size);
    EXPECT_EQ(id, status.user_context);
    EXPECT_EQ(0u, status.port);
  }

  void check() {
    for (size_t id = 0; id < cases_.size(); ++id) {
      SCOPED_TRACE("case " + std::to_string(id) + ", row " + std::to_string(static_cast<int>(cases_[id].row)));
      EXPECT_EQ(1, ends_[id]) << "exactly one of done and one signal";
      const bool matched = !is(id, Row::kPut) && !is(id, Row::kGet);
      EXPECT_EQ(matched ? 1 : 0, matched_[id]) << "the other side, once";
      const bool put = is(id, Row::kPut) || is(id, Row::kPutSignal), get = is(id, Row::kGet) || is(id, Row::kGetSignal);
      if (is(id, Row::kAm)) continue;
      const Bytes expected = pattern(cases_[id].size, (get ? to_ : from_) + id);
      EXPECT_EQ(0,
                compare(expected.data(), put ? window_.mine() + id * kLongest : places_[id].data(), expected.size()));
    }
    lci_status none = LCI_STATUS_INIT;
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended_, &none)) << "a signal too many, of context " << none.user_context;
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox_, &none)) << "an arrival too many, of tag " << none.tag;
  }

  World& world_;
  const uint16_t port_;
  const uint32_t to_, from_;
  const std::vector<Case> cases_;
  const Windows window_;
  lci_comp* const inbox_;
  lci_comp* const ended_;
  std::vector<int> ends_, matched_;
  std::vector<Bytes> bytes_, places_;
  size_t posted_ = 0;
};

// Proves: C1 C14 C16 C17 D1 D15 SS-1 SS-2
CONFORMANCE(C1, EveryRowByEveryFormAndOption) {
  for (const uint32_t distance : {0u, 1u}) Table(world, distance).run();
}

// The same where put and get go through their target.
CONFORMANCE(C1, EveryRowByEveryFormAndOptionByMessages, {"rma", "messages"}) {
  for (const uint32_t distance : {0u, 1u}) Table(world, distance).run();
}

// Inbound without a region, but with a port: there is no such operation. What comes nearest names an engine that does
// not exist, or no region.
CONFORMANCE(C1, TheEighthRowIsRefused) {
  lci_comp* ended = world.queue();
  uint8_t place[8];
  lci_descriptor receive = operation(LCI_OP_RECV, world.next(), 9, 1, place, sizeof place);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &receive, ended, nullptr));
  lci_descriptor get = operation(LCI_OP_GET, world.next(), 9, 1, place, sizeof place);
  EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, lci_post(world.device(), &get, ended, nullptr));
  EXPECT_EQ(0u, world.counter("operations_recv_posted") + world.counter("operations_get_posted"));
}

}  // namespace
}  // namespace lci_test
