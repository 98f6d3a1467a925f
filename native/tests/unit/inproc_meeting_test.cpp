// SPDX-License-Identifier: Apache-2.0
// Ranks of one process meet: each sees the arenas of its own generation, however late it looks, and nobody keeps what
// is closed.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/inproc.hpp"
#include "peer/profile.hpp"
#include "transport/shm/meeting.hpp"

namespace lci {
namespace {

constexpr uint64_t kPatience = 30'000'000'000;  // ns

/// A rank whose thread stands still for a while when the others have come.
class LateBootstrap final : public Bootstrap {
 public:
  LateBootstrap(Bootstrap& inner, std::function<void()> meanwhile) : inner_(inner), meanwhile_(std::move(meanwhile)) {}
  uint32_t rank() const override { return inner_.rank(); }
  uint32_t size() const override { return inner_.size(); }
  const std::string& job_id() const override { return inner_.job_id(); }
  const std::array<uint8_t, 32>& secret() const override { return inner_.secret(); }
  const char* name() const override { return inner_.name(); }
  int publish(const std::string& key, const void* bytes, size_t n) override { return inner_.publish(key, bytes, n); }
  int barrier(uint64_t deadline_ns) override {
    const int code = inner_.barrier(deadline_ns);
    meanwhile_();
    return code;
  }
  int get(uint32_t rank, const std::string& key, std::vector<uint8_t>* out) override {
    return inner_.get(rank, key, out);
  }

 private:
  Bootstrap& inner_;
  const std::function<void()> meanwhile_;
};

class InprocMeeting : public testing::Test {
 protected:
  InprocMeeting() { EXPECT_EQ(LCI_DONE, create_inproc(2, &job_)); }
  ~InprocMeeting() override { release_inproc(job_); }

  std::unique_ptr<Bootstrap> open(uint32_t rank) {
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(LCI_DONE, open_bootstrap(Attributes(), job_, rank, &bootstrap)) << last_error();
    return bootstrap;
  }
  static std::shared_ptr<Arena> arena() {
    std::shared_ptr<Arena> arena;
    EXPECT_EQ(LCI_DONE, Arena::create(1 << 20, 0, 0, 2, 1, &arena)) << last_error();
    return arena;
  }
  int meet(Bootstrap& bootstrap, std::shared_ptr<Arena> own, uint64_t deadline, Met* out) {
    Profile profile = new_profile();
    profile.rank = bootstrap.rank();
    profile.size = bootstrap.size();
    profile.reserve = own->reserve();
    HostAddress address = address_of_this_process();
    Meeting meeting(bootstrap, job_, {0, 1});
    int code = meeting.open(std::move(own), &address);
    profile.address = encode(address);
    std::vector<Profile> profiles;
    std::vector<HostAddress> addresses;
    if (code == LCI_DONE) code = exchange_profiles(bootstrap, profile, deadline, &profiles);
    if (code == LCI_DONE) code = decode_addresses(profiles, bootstrap.rank(), {0, 1}, &addresses);
    return code == LCI_DONE ? meeting.meet(addresses, deadline, out) : code;
  }

  lci_inproc* job_ = nullptr;
};

// The other one has left and come again meanwhile.
TEST_F(InprocMeeting, WhoLooksLateSeesItsOwnGeneration) {
  std::shared_ptr<Arena> mine = arena(), first = arena(), second = arena();
  std::unique_ptr<Bootstrap> zero = open(0), one = open(1);
  const uint64_t deadline = now_ns() + kPatience;
  Met seen;
  {
    Met of_one;
    std::thread other([&] { EXPECT_EQ(LCI_DONE, meet(*one, first, deadline, &of_one)) << last_error(); });
    LateBootstrap late(*zero, [&] {
      other.join();
      one.reset();
      one = open(1);
      Met none;
      EXPECT_EQ(LCI_ERR_TIMEOUT, meet(*one, second, 0, &none));
    });
    ASSERT_EQ(LCI_DONE, meet(late, mine, deadline, &seen)) << last_error();
  }
  EXPECT_EQ(mine, seen.arenas[0]);
  EXPECT_EQ(first, seen.arenas[1]);
  EXPECT_TRUE(seen.board);
  one.reset();
  EXPECT_EQ(1, second.use_count()) << "kept by the job";
  EXPECT_EQ(2, first.use_count()) << "kept by the job";
}

TEST_F(InprocMeeting, WhoGaveUpIsNotMet) {
  std::shared_ptr<Arena> gone = arena();
  std::unique_ptr<Bootstrap> zero = open(0);
  Met none;
  EXPECT_EQ(LCI_ERR_TIMEOUT, meet(*zero, gone, 0, &none));
  zero.reset();
  EXPECT_EQ(1, gone.use_count()) << "kept by the job";
  const std::unique_ptr<Bootstrap> one = open(1);
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, meet(*one, arena(), now_ns() + kPatience, &none));
  EXPECT_EQ(0, last_error_rank());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "rank 0 left", last_error());
}

}  // namespace
}  // namespace lci
