// SPDX-License-Identifier: Apache-2.0
// Calls that fail, and what comes of them: rank 1 of two is played, and answers rank 0's calls by hand.
#include <gtest/gtest.h>

#include <functional>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "host/socket.hpp"
#include "support/played_rank.hpp"
#include "support/posting.hpp"
#include "transport/tcp/monitor.hpp"

namespace lci_test {
namespace {

using lci::OutgoingCall;
using Answer = OutgoingCall::Answer;

/// What a played rank does with the calls of links; those of monitors are accepted.
enum class Reply { kAccept, kRefuse, kNone };

class TcpCall : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job_));
    peer_ = std::make_unique<PlayedRank>(job_, 1, 2);
    listener_ = peer_->open_other_door();
  }
  void TearDown() override {
    link_ = lci::Connection();
    calls_.clear();
    listener_ = lci::FileDescriptor();
    peer_.reset();
    if (runtime_) {
      EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime_, 0));
    }
    lci_inproc_free(job_);
  }

  /// Rank 0 joins, and calls: the first calls are answered with @p replies, the next one is accepted.
  void join(const std::vector<Reply>& replies) {
    int code = LCI_RETRY;
    std::jthread joins([&] { code = create_over_tcp(job_, 0, &runtime_); });
    peer_->meet();
    replies_.assign(replies.begin(), replies.end());
    ASSERT_TRUE(serve_until([&] { return link_.is_there(); }));
    PlayedRank::say_so(link_, 0);
    said_ = sizeof(lci::RecordHeader);
    peer_->wait_for_all();
    joins.join();
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    ASSERT_EQ(LCI_DONE, lci_runtime_device(runtime_, 0, &device_));
  }

  /// Answers who calls until @p ready; rank 0 makes passes meanwhile.
  bool serve_until(const std::function<bool()>& ready) {
    for (const lci::test::Deadline patience(30); !patience.passed();) {
      if (device_) lci_progress(device_);
      serve();
      if (ready()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  /// One frame, behind what was said; it acknowledges all that has come.
  void say(lci::LinkWord word) {
    struct {
      lci::RecordHeader header;
      lci::FrameHeader frame;
    } record{};
    record.header.length = sizeof record.frame;
    record.header.position = said_;
    record.header.received = heard_;
    record.frame.kind = static_cast<uint8_t>(word);
    const iovec part{&record, sizeof record.header + sizeof record.frame};
    EXPECT_EQ(static_cast<ssize_t>(part.iov_len), link_.send(&part, 1));
    said_ += part.iov_len;
  }
  /// Takes what rank 0 has said. False: it says no more.
  bool hear() {
    std::array<std::byte, 4096> some;
    bool more = false;
    for (;;) {
      const ssize_t came = link_.receive(some.data(), some.size(), &more);
      if (came <= 0) return came < 0 && errno == EAGAIN;
      heard_ += static_cast<uint64_t>(came);
    }
  }
  size_t unanswered() const {
    return static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.kept; }));
  }

  lci_inproc* job_ = nullptr;
  std::unique_ptr<PlayedRank> peer_;
  std::list<Reply> replies_;
  lci::Connection link_;
  uint64_t said_ = 0, heard_ = 0;
  lci_runtime* runtime_ = nullptr;
  lci_device* device_ = nullptr;

 private:
  struct Call {
    lci::FileDescriptor socket;
    lci::CallHello hello{};
    lci::CallChallenge challenge{};
    lci::Digest proof{};
    size_t came = 0;
    bool kept = false;  // and not answered
  };

  void serve() {
    lci::SocketAddress from;
    for (;;) {
      lci::FileDescriptor socket = lci::accept_from(listener_.get(), &from);
      if (socket.get() < 0) break;
      calls_.emplace_back().socket = std::move(socket);
    }
    calls_.remove_if([this](Call& call) { return answer(call); });
  }
  /// True: it is done with.
  bool answer(Call& call) {
    if (call.kept) return false;
    const bool has_said = call.challenge.magic != 0;
    const size_t size = has_said ? sizeof call.proof : sizeof call.hello;
    auto* const to = has_said ? reinterpret_cast<std::byte*>(&call.proof) : reinterpret_cast<std::byte*>(&call.hello);
    const lci::Moved moved = lci::receive_some(call.socket.get(), to + call.came, size - call.came);
    call.came += moved.bytes;
    if (call.came != size) return moved.ended;
    call.came = 0;
    return has_said ? accept(call) : reply(call);
  }
  bool reply(Call& call) {
    Reply reply = Reply::kAccept;
    if (call.hello.device != lci::kMonitorDevice && !replies_.empty()) {
      reply = replies_.front();
      replies_.pop_front();
    }
    call.kept = reply == Reply::kNone;
    if (call.kept) return false;
    lci::CallIdentity self = peer_->identity();
    if (reply == Reply::kRefuse) self.secret[0] ^= 1;
    call.challenge = challenge_to(call.hello, self);
    lci::send_some(call.socket.get(), &call.challenge, sizeof call.challenge);
    return reply == Reply::kRefuse;
  }
  bool accept(Call& call) {
    const lci::Digest binding = binding_of(call.hello, call.challenge, peer_->identity());
    const lci::CallVerdict verdict{lci::CallVerdict::kAccepted, call.hello.connections + 1, said_};
    EXPECT_TRUE(send_verdict(call.socket.get(), verdict, binding));
    call.kept = call.hello.device == lci::kMonitorDevice;
    if (!call.kept) link_ = lci::Connection(std::move(call.socket), nullptr, {});
    return !call.kept;
  }

  lci::FileDescriptor listener_;
  std::list<Call> calls_;
};

// Of two calls that meet the lower rank's stands, unless it was refused: that was before, and is over.
TEST_F(TcpCall, ThatWasRefusedOnceStandsWhenItIsMadeAgain) {
  join({Reply::kRefuse});
  ASSERT_TRUE(serve_until([&] { return hear() && heard_ > sizeof(lci::RecordHeader); })) << "it has greeted";
  say(lci::LinkWord::kRest);
  ASSERT_TRUE(serve_until([&] { return !hear(); })) << "it rests";
  const size_t before = unanswered();
  replies_ = {Reply::kNone};
  ASSERT_EQ(LCI_DONE, lci_post_am(device_, 1, 5, 0, nullptr, 0, nullptr, 0)) << lci_last_error();
  ASSERT_TRUE(serve_until([&] { return unanswered() == before + 1; })) << "it has something to say, and calls";
  OutgoingCall call = peer_->call(0, 0, {1, heard_});
  EXPECT_EQ(Answer::kDuplicate, outcome(call, [this] { lci_progress(device_); }));
}

}  // namespace
}  // namespace lci_test
