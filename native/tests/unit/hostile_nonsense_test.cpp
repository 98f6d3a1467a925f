// SPDX-License-Identifier: Apache-2.0
// Every message that makes no sense, one by one: it is counted as a protocol error and said, its sender is treated as
// failed, and nobody else. Mutations that must make this file fail: believe_completed, errors_end_barriers.
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "support/hostile_peer.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci::kFlagAsks;
using lci::kFlagCredited;
using lci::kFlagKeyed;
using lci::kFlagReply;
using lci::kFlagSignal;
using lci::MessageHeader;
using lci::MessageKind;

constexpr uint16_t kQueuePort = 7, kHandlerPort = 8, kUnopenedPort = 9;
constexpr uint32_t kLong = 100000;
/// The id of the first operation under way, as it travels: generation and index.
constexpr uint64_t kFirst = uint64_t{1} << 32;

/// Rank 0 with two open ports, under attack by rank 1.
class Scene {
 public:
  Scene()
      : job(2, {{"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}, {"rma", "messages"}}),
        peer(job),
        device_(job.device(0)),
        queue_(make_queue(job.runtime(0))),
        local_(make_queue(job.runtime(0))),
        theirs_(job.runtime(1), kLong) {
    lci_comp* handler = nullptr;
    EXPECT_EQ(LCI_DONE, lci_handler_create(
                            job.runtime(0), [](const lci_status*, void*) {}, nullptr, &handler));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kQueuePort, "", queue_, 16, 1 << 20));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kHandlerPort, "", handler, 0, 0));
  }

  uint32_t max_eager() { return lci_runtime_max_eager(job.runtime(0)); }
  void progress() {
    const int code = lci_progress(device_);
    EXPECT_TRUE(code == LCI_DONE || code == LCI_RETRY) << lci_last_error();
  }
  /// Sends to the peer, which may answer from now on.
  void speak() { EXPECT_EQ(LCI_DONE, post(500, kUnopenedPort)) << lci_last_error(); }
  /// Announces what is too long for a packet, as operation kFirst.
  void announce_long() { EXPECT_EQ(LCI_POSTED, post(kLong, kQueuePort)) << lci_last_error(); }
  /// Puts, as operation kFirst.
  void put() {
    const uint64_t id = open_remote(job.runtime(0), 1, handle_of(theirs_.memory));
    EXPECT_EQ(LCI_POSTED, lci_post_put(device_, 1, bytes_.data(), kLong, id, 0, local_, 1)) << lci_last_error();
  }
  /// Asks for an atomic operation, as kFirst.
  void add() {
    const uint64_t id = open_remote(job.runtime(0), 1, handle_of(theirs_.memory));
    EXPECT_EQ(LCI_POSTED, lci_post_atomic(device_, 1, LCI_ATOMIC_ADD, 1, 0, id, 0, local_, 1, nullptr))
        << lci_last_error();
  }
  /// The peer announces a message for the port with a handler, which is asked for as kFirst.
  void let_announce(uint32_t size) {
    peer.send({MessageKind::kRendezvous, 0, kHandlerPort, size, 0, 1, 2});
    progress();
  }
  int post(uint32_t size, uint32_t port, uint32_t to = 1) {
    return lci_post_am(device_, to, port, 1, bytes_.data(), size, local_, 1);
  }
  bool serves_itself() {
    lci_status status{};
    for (int i = 0; i < 100; ++i) {
      lci_post_am(device_, 0, kQueuePort, 2, nullptr, 0, nullptr, 0);
      progress();
      while (lci_queue_pop(queue_, &status) == LCI_DONE) {
        lci_buffer_free(status.buffer);
        if (status.rank == 0 && status.tag == 2) return true;
      }
    }
    return false;
  }

 private:
  // First what operations may read until the job ends.
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kLong, 1);

 public:
  Job job;
  HostilePeer peer;

 private:
  lci_device* device_;
  lci_comp *queue_, *local_;
  const Allocated theirs_;
};

struct Nonsense {
  const char* what;  ///< As the error says.
  std::function<void(Scene&)> attack;
};

Nonsense message(const char* what, const MessageHeader& header, uint64_t payload = 0) {
  return {what, [=](Scene& scene) {
            uint64_t bytes[LCI_INLINE_MAX / sizeof payload] = {payload};
            scene.peer.send(header, bytes);
          }};
}

/// To a rank that has spoken to the peer.
Nonsense answer(const char* what, const MessageHeader& header) {
  return {what, [=](Scene& scene) {
            scene.speak();
            scene.peer.send(header);
          }};
}

std::vector<Nonsense> places_of_rings() {
  std::vector<Nonsense> cases;
  for (const uint64_t offset : {uint64_t{63}, uint64_t{64}, uint64_t{1} << 40, ~uint64_t{63}}) {
    cases.push_back({"ring outside its memory", [=](Scene& scene) { scene.peer.move_rings(offset); }});
  }
  return cases;
}

std::vector<Nonsense> messages() {
  const char* granted = "more messages than were granted";
  return {
      message("unknown data message", {static_cast<MessageKind>(15), 0, kQueuePort, 0, 0, 0, 0}),
      message("inline payload too long", {MessageKind::kAmInline, 0, kQueuePort, LCI_INLINE_MAX + 1, 1, 0, 0}),
      message("message to nothing", {MessageKind::kAmInline, 0, 0, 0, 1, 0, 0}),
      message("message to nothing", {MessageKind::kAmInline, 0, lci::kEngineTarget, 0, 1, 0, 0}),
      message("message to nothing", {MessageKind::kSendInline, 0, kQueuePort, 0, 1, 0, 0}),
      message("message to nothing", {MessageKind::kSendInline, 0, 0xFFFF, 0, 1, 0, 0}),
      message("message to nothing", {MessageKind::kAmInline, kFlagSignal, kHandlerPort, 8, 1, 0, 0}),
      message("message to nothing", {MessageKind::kAmInline, kFlagAsks, kHandlerPort, 0, 1, 0, 0}),
      message("reply without a request", {MessageKind::kAmInline, kFlagReply, kHandlerPort, 8, 1, 0, 0}),
      message("announced reply", {MessageKind::kRendezvous, kFlagReply, kQueuePort, kLong, 0, 1, 0}),
      message("request for a reply nowhere", {MessageKind::kRendezvous, kFlagAsks, kQueuePort, kLong, 0, 1, 0}),
      message(granted, {MessageKind::kAmInline, 0, kQueuePort, 8, 1, 0, 0}),
      message(granted, {MessageKind::kAmInline, kFlagCredited, kQueuePort, 8, 1, 0, 0}),
      message(granted, {MessageKind::kSendInline, kFlagCredited, lci::kEngineTarget, 8, 1, 0, 0}),
      message("announcement of nothing", {MessageKind::kRendezvous, 0, 0, kLong, 0, 1, 0}),
      message("announcement of nothing", {MessageKind::kAnnounce, 0, kQueuePort, 8, 0, 1, 0}),
      message("signal with a payload", {MessageKind::kRendezvous, kFlagSignal, kQueuePort, 8, 0, 1, 0}),
      message("more rendezvous than were granted",
              {MessageKind::kRendezvous, kFlagCredited, kQueuePort, kLong, 1, 1, 0}),
      message("announcement with credit",
              {MessageKind::kRendezvous, kFlagCredited, lci::kEngineTarget, kLong, 1, 1, 0}),
      message("more announcements than may wait",
              {MessageKind::kRendezvous, kFlagCredited, kQueuePort, kLong, 5, 1, 0}),
      message("chunk outside its memory", {MessageKind::kRendezvousData, 0, 0, 8, 0, kFirst, 0}),
      message("put outside its memory", {MessageKind::kPutData, 0, 0, 8, 0, kFirst, 0}),
      message("get of nothing", {MessageKind::kGet, 0, 0, 0, 0, 0, kFirst}),
      message("unknown atomic operation", {MessageKind::kAtomic, 0, 0, 0, 0, kFirst, 0}),
      message("unknown atomic operation", {MessageKind::kAtomic, 0, 0, 0, LCI_ATOMIC_COMPARE_SWAP + 1, kFirst, 0}),
      message("key for an engine without keys",
              {MessageKind::kRendezvous, kFlagKeyed, lci::kEngineTarget, kLong, 0, 1, 0}),
      message("barrier round out of range", {MessageKind::kBarrier, 0, 0, 0, 1, 0, 0}),
      message("barrier too far ahead", {MessageKind::kBarrier, 0, 0, 0, 0, uint64_t{1} << 40, 0}),
  };
}

std::vector<Nonsense> answers() {
  return {
      answer("unknown control message", {static_cast<MessageKind>(40), 0, 0, 0, 0, 0, 0}),
      answer("credit of nothing", {MessageKind::kReturn, 0, 0, 0, 0, 1, 0}),
      answer("more credit back than was granted", {MessageKind::kReturn, 0, kQueuePort, 1, 0, 1, 0}),
      answer("more credit back than was granted", {MessageKind::kReturn, 0, kQueuePort, 0, 0, 1, 1}),
      answer("room back that it had not", {MessageKind::kReturn, kFlagReply, kQueuePort, 1, 0, 1, 0}),
      answer("credit for nothing", {MessageKind::kGrant, 0, 0, 1, 0, 1, 1}),
      answer("refusal of nothing", {MessageKind::kRefuse, 0, lci::kEngineTarget, 0, LCI_ERR_PORT_CLOSED, 1, 0}),
      answer("refusal of nothing", {MessageKind::kRefuse, 0, 0, 0, LCI_ERR_PORT_CLOSED, 1, 0}),
      answer("withdrawal without a reason", {MessageKind::kWithdraw, 0, 0, 0, LCI_RETRY, kFirst, 0}),
      {"ready twice",
       [](Scene& scene) {
         scene.announce_long();
         for (int i = 0; i < 2; ++i) scene.peer.send({MessageKind::kReady, 0, 0, 0, 0, 5, kFirst});
       }},
      {"answer to a put that was not sent",
       [](Scene& scene) {
         scene.put();
         scene.peer.send({MessageKind::kPutAck, 0, 0, 0, LCI_DONE, kFirst, kLong + 1});
       }},
      {"answer to a put that was not sent",
       [](Scene& scene) {
         scene.put();
         scene.peer.send({MessageKind::kPutAck, 0, 0, 0, LCI_RETRY, kFirst, 1});
       }},
      {"answer to an atomic operation with no code",
       [](Scene& scene) {
         scene.add();
         scene.peer.send({MessageKind::kAtomicAnswer, 0, 0, 0, LCI_RETRY, kFirst, 1});
       }},
  };
}

/// Packets that are none, named in each way that a message can name one.
std::vector<Nonsense> packets() {
  std::vector<Nonsense> cases;
  for (const uint64_t handle : {uint64_t{0}, uint64_t{1}, uint64_t{UINT32_MAX}, uint64_t{1} << 40}) {
    cases.push_back(message("packet outside its memory", {MessageKind::kAmPacket, 0, kHandlerPort, 8, 1, 1, handle}));
    cases.push_back(
        message("packet outside its memory", {MessageKind::kSendPacket, 0, lci::kEngineTarget, 8, 1, 1, handle}));
  }
  cases.push_back({"packet outside its memory", [](Scene& scene) {
                     const uint32_t size = scene.max_eager() + 1;
                     scene.peer.send({MessageKind::kAmPacket, 0, kHandlerPort, size, 1, 1, scene.peer.packet()});
                   }});
  cases.push_back({"signal with a payload", [](Scene& scene) {
                     scene.peer.send({MessageKind::kAnnounce, kFlagSignal, kQueuePort, 8, 0, 1, scene.peer.packet()});
                   }});
  cases.push_back({"announcement with credit", [](Scene& scene) {
                     scene.peer.send({MessageKind::kAnnounce, kFlagCredited, kQueuePort, 8, 1, 1, scene.peer.packet()});
                   }});
  cases.push_back({"more announcements than may wait", [](Scene& scene) {
                     for (int i = 0; i < 3; ++i) {
                       scene.peer.send({MessageKind::kAnnounce, 0, kUnopenedPort, 8, 0, 1, scene.peer.packet()});
                     }
                   }});
  return cases;
}

/// Payloads that are said to lie elsewhere in the peer's arena: outside of it, too long, or where that is not for
/// saying.
std::vector<Nonsense> places() {
  std::vector<Nonsense> cases;
  auto add = [&](const char* what, const MessageHeader& header, std::function<uint64_t(Scene&)> place) {
    cases.push_back({what, [=](Scene& scene) {
                       MessageHeader named = header;
                       named.arg = scene.peer.packet_naming(place(scene));
                       if (named.size == UINT32_MAX) {
                         named.size = 1 + (named.kind == MessageKind::kRendezvousData ? 64 << 10 : scene.max_eager());
                       }
                       scene.peer.send(named);
                     }});
  };
  const auto begin = [](Scene& scene) { return scene.peer.begin(); };
  const MessageHeader am{MessageKind::kAmPacket, 0, kHandlerPort, 8, 1, 1, 0},
      chunk{MessageKind::kRendezvousData, 0, 0, 8, 0, 0, 0};
  const std::pair<const char*, MessageHeader> allowed[] = {
      {"packet outside its memory", am},
      {"packet outside its memory", {MessageKind::kSendPacket, 0, lci::kEngineTarget, 8, 1, 1, 0}},
      {"chunk outside its memory", chunk}};
  for (const auto& [what, header] : allowed) {
    add(what, header, [](Scene&) { return 0; });
    add(what, header, [](Scene& scene) { return scene.peer.begin() - 1; });
    add(what, header, [](Scene& scene) { return scene.peer.end() - 7; });
    add(what, header, [](Scene& scene) { return scene.peer.end(); });
    add(what, header, [](Scene&) { return UINT64_MAX - 3; });
    MessageHeader nowhere = header, too_long = header;
    nowhere.arg = lci::kInPlace;
    cases.push_back(message(what, nowhere));
    nowhere.arg = lci::kInPlace | uint64_t{1} << 40;
    cases.push_back(message(what, nowhere));
    too_long.size = UINT32_MAX;
    add(what, too_long, begin);
  }
  add("announcement of nothing", {MessageKind::kAnnounce, 0, kQueuePort, 8, 0, 1, 0}, begin);
  add("put outside its memory", {MessageKind::kPutData, 0, 0, 8, 0, kFirst, 0}, begin);
  return cases;
}

std::vector<Nonsense> chunks() {
  auto send_chunk = [](Scene& scene, uint32_t size, uint64_t offset) {
    uint64_t payload[LCI_INLINE_MAX / sizeof offset] = {offset};
    scene.peer.send({MessageKind::kRendezvousData, 0, 0, size, 0, kFirst, scene.peer.packet()}, payload);
  };
  return {{"chunk outside its message",
           [=](Scene& scene) {
             scene.let_announce(100);
             send_chunk(scene, 20, 90);
           }},
          {"chunk outside its message",
           [=](Scene& scene) {
             scene.let_announce(100);
             send_chunk(scene, 20, UINT64_MAX - 10);
           }},
          {"chunk outside its message", [=](Scene& scene) {  // more in sum than was announced
             scene.let_announce(100);
             send_chunk(scene, 60, 0);
             send_chunk(scene, 60, 0);
           }}};
}

TEST(HostileNonsense, EndsItsSenderAndNobodyElse) {
  std::vector<Nonsense> cases;
  for (const auto& part : {places_of_rings(), messages(), answers(), packets(), places(), chunks()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const Nonsense& nonsense = cases[i];
    SCOPED_TRACE(std::to_string(i) + ": " + nonsense.what);
    Scene scene;
    nonsense.attack(scene);
    scene.progress();
    EXPECT_LE(1u, scene.job.counter(0, "protocol_errors"));
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find(nonsense.what)) << lci_last_error();
    EXPECT_EQ(1u, scene.job.counter(0, "peers_failed"));
    scene.progress();  // what was bound to the peer ends
    EXPECT_EQ(LCI_ERR_PEER_FAILED, scene.post(8, kUnopenedPort)) << lci_last_error();
    EXPECT_TRUE(scene.serves_itself());
    scene.job.close(0, 0);
  }
}

/// A rank that has not entered a barrier says, before it goes, how many it has completed: what is too large for all,
/// what those whom it had to tell know better, and what only others could believe. Whoever ends with an error goes on
/// telling the others, so nobody waits for ever.
TEST(HostileNonsense, ALieAboutBarriersHoldsUpNobody) {
  for (const uint64_t said : {uint64_t{2}, uint64_t{3}, uint64_t{4}, uint64_t{UINT32_MAX}, UINT64_MAX}) {
    for (const uint32_t ranks : {2u, 3u, 5u, 8u}) {
      SCOPED_TRACE(std::to_string(said) + " of 3 barriers, " + std::to_string(ranks) + " ranks");
      Job job(ranks);
      std::vector<lci_comp*> ended(ranks);
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        ended[rank] = make_queue(job.runtime(rank));
        EXPECT_EQ(LCI_POSTED, lci_post_barrier(job.device(rank), ended[rank], 0)) << lci_last_error();
      }
      job.settle();
      for (uint32_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(1u, lci_queue_length(ended[rank]));
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        for (int i = 0; i < 2 && rank != 1; ++i) {
          EXPECT_EQ(LCI_POSTED, lci_post_barrier(job.device(rank), ended[rank], 0)) << lci_last_error();
        }
      }
      job.settle();
      job.runtime(1)->runtime->transport().barriers_completed(1).store(said);
      job.close(1, 0);
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (rank == 1) continue;
        lci_status status{};
        const lci::test::Deadline deadline(5);
        while (lci_queue_length(ended[rank]) < 3 && !deadline.passed()) job.progress();
        EXPECT_EQ(3u, lci_queue_length(ended[rank])) << "rank " << rank;
        const bool it_tells = std::has_single_bit((rank + ranks - 1) % ranks);
        while (lci_queue_pop(ended[rank], &status) == LCI_DONE) {
          if (status.tag == 0) {
            EXPECT_EQ(LCI_DONE, status.code);
          } else if (it_tells) {
            EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code) << "rank " << rank << ", barrier " << status.tag;
            EXPECT_EQ(1u, status.rank);
          }
        }
      }
      if (HasFailure()) return;
    }
  }
}

/// What the cases of places() come close to.
TEST(HostileNonsense, APayloadMayLieElsewhere) {
  Scene scene;
  for (const uint32_t size : {0u, 8u, scene.max_eager()}) {
    scene.peer.send(
        {MessageKind::kAmPacket, 0, kHandlerPort, size, 1, 1, scene.peer.packet_naming(scene.peer.begin())});
    scene.progress();
  }
  EXPECT_EQ(3u, scene.job.counter(0, "arrivals"));
  EXPECT_EQ(0u, scene.job.counter(0, "protocol_errors")) << lci_last_error();
  scene.job.close(0, 0);
}

}  // namespace
}  // namespace lci_test
