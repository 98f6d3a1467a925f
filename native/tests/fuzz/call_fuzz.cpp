// SPDX-License-Identifier: Apache-2.0
// How two ranks make sure of each other over TCP, against whoever has the job's secret and whoever has not: greetings,
// challenges, proofs and verdicts that are changed anywhere, come in any pieces, end early or go on. Whoever is let in
// has said what a rank of the job says, and proved it; its place in the link is the one that it said.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/attributes.hpp"
#include "fuzz/input.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"
#include "support/descriptors.hpp"
#include "support/no_events.hpp"
#include "support/threads.hpp"
#include "transport/tcp/door.hpp"
#include "transport/tcp/outgoing_call.hpp"

namespace {

using lci::FileDescriptor;
using lci_fuzz::Input;
using lci_test::NoEvents;

constexpr uint32_t kRanks = 3;
constexpr uint64_t kIncarnation = 100;  // of rank 0, and so on

lci::CallIdentity identity_of(uint32_t rank) {
  lci::CallIdentity self{};
  self.secret.fill(7);
  self.job.fill('j');
  self.rank = rank;
  self.size = kRanks;
  self.incarnation = kIncarnation + rank;
  return self;
}

/// True: it is as it was.
template <typename Words>
bool change(Input& input, Words* words) {
  const Words before = *words;
  for (uint8_t changes = input.number<uint8_t>() % 3; changes > 0; --changes) {
    const size_t at = input.number<uint8_t>() % sizeof *words;
    reinterpret_cast<uint8_t*>(words)[at] = input.number<uint8_t>();
  }
  return std::memcmp(&before, words, sizeof before) == 0;
}

/// Sends in pieces; between them @p meanwhile is called. False: the input ends it early.
template <typename Words, typename Meanwhile>
bool send_pieces(Input& input, int socket, const Words& words, Meanwhile meanwhile) {
  const uint8_t first = input.number<uint8_t>();
  const bool whole = first % 8 != 0;
  const size_t size = whole ? sizeof words : first % sizeof words;
  for (size_t at = 0; at < size;) {
    const size_t piece = std::min<size_t>(input.number<uint8_t>() % 4 ? size : 7, size - at);
    ::send(socket, reinterpret_cast<const std::byte*>(&words) + at, piece, MSG_NOSIGNAL);
    at += piece;
    meanwhile();
  }
  return whole;
}

/// At once: no port stays taken.
void hang_up(FileDescriptor& socket) {
  const linger none{1, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  socket = FileDescriptor();
}

/// All of @p words, which the other side has sent, if it has.
template <typename Words>
bool receive(int socket, Words* words) {
  return ::recv(socket, words, sizeof *words, MSG_PEEK | MSG_DONTWAIT) == sizeof *words &&
         ::recv(socket, words, sizeof *words, MSG_DONTWAIT) == sizeof *words;
}

/// What is to come comes, when the system has carried it; what is not, not even then.
template <typename Condition>
bool becomes(bool expected, Condition condition) {
  bool is_so = condition();
  for (const lci::test::Deadline patience(10); expected && !is_so && !patience.passed();) is_so = condition();
  return is_so == expected;
}

lci::Log& quiet_log() {
  static lci::Log log;
  static const bool open = [] {
    lci::Attributes attributes;
    attributes.log_outfile = "none";
    return log.open(attributes, 1, 1) == LCI_DONE;
  }();
  FUZZ_EXPECT(open);
  return log;
}

/// Rank 1 answers.
void run_door(Input& input) {
  const lci::CallIdentity self = identity_of(1);
  NoEvents events;
  lci::SharedCounters counters;
  lci::Door door(self, events, quiet_log(), counters);
  lci::TcpAddress address{};
  FUZZ_EXPECT(door.open("127.0.0.1", &address) == LCI_DONE);
  door.expect({kIncarnation, kIncarnation + 1, kIncarnation + 2});
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const lci::SocketAddress target = socket_address(address);
  FUZZ_EXPECT(::connect(socket.get(), target.get(), target.size()) == 0);
  lci::send_at_once(socket.get());
  const auto visit = [&] { door.visit(); };

  lci::CallIdentity caller = identity_of(0);
  if (input.number<uint8_t>() % 4 == 0) caller.secret[31] ^= 1;
  lci::CallHello hello =
      lci::hello_to(caller, 1, input.number<uint8_t>() % 4, {input.number<uint8_t>(), input.number<uint64_t>()});
  change(input, &hello);
  bool is_right = send_pieces(input, socket.get(), hello, visit);
  const bool fits = !lci::fault_of(hello, self) && hello.incarnation == kIncarnation + hello.from;
  lci::CallChallenge challenge{};
  const bool is_challenged = is_right && fits;
  FUZZ_EXPECT(becomes(is_challenged, [&] {
    door.visit();
    return receive(socket.get(), &challenge);
  }));
  FUZZ_EXPECT(!is_challenged || lci::is_proved(hello, challenge, identity_of(hello.from)));
  lci::Digest proof = input.number<uint8_t>() % 8 ? lci::proof_of_caller(hello, challenge, caller) : challenge.proof;
  change(input, &proof);
  is_right = send_pieces(input, socket.get(), proof, visit) && is_challenged &&
             proof.bytes == lci::proof_of_caller(hello, challenge, self).bytes;
  ::send(socket.get(), &hello, input.number<uint8_t>() % sizeof hello, MSG_NOSIGNAL);
  std::vector<lci::Caller> callers;
  FUZZ_EXPECT(becomes(is_right, [&] {
    door.visit();
    for (uint32_t device = 0; device <= lci::kMaxDevices; ++device) {
      if (!door.has_callers(device)) continue;
      FUZZ_EXPECT(device == hello.device);
      door.take_callers(device, &callers);
    }
    return callers.size() == 1;
  }));
  if (is_right) {
    FUZZ_EXPECT(callers[0].rank == hello.from && callers[0].progress.taken == hello.taken &&
                callers[0].progress.connections == hello.connections);
  }
  hang_up(socket);
}

/// Rank 0 calls, and whoever has the address of rank 1 answers.
void run_call(Input& input) {
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FUZZ_EXPECT(::listen(listener.get(), 1) == 0);  // at any port
  lci::TcpAddress address{};
  address.family = 4;
  address.ip[0] = std::byte{127};
  address.ip[3] = std::byte{1};
  address.port = lci::local_address(listener.get()).port();
  address.incarnation = kIncarnation + 1;
  const lci::CallIdentity self = identity_of(0);
  lci::OutgoingCall call(self, address, 1, 2, {3, 4});
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  FUZZ_EXPECT(socket.get() >= 0);
  lci::send_at_once(socket.get());
  lci::OutgoingCall::Answer answer = lci::OutgoingCall::Answer::kWaiting;
  const auto go_on = [&] {
    if (answer == lci::OutgoingCall::Answer::kWaiting) answer = call.go_on();
  };

  lci::CallHello hello{};
  FUZZ_EXPECT(becomes(true, [&] {
    go_on();
    return receive(socket.get(), &hello);
  }));
  FUZZ_EXPECT(hello.from == 0 && hello.to == 1 && hello.device == 2 && hello.connections == 3 && hello.taken == 4);
  lci::CallIdentity other = identity_of(1);
  if (input.number<uint8_t>() % 4 == 0) other.secret[0] ^= 1;
  if (input.number<uint8_t>() % 4 == 0) other.incarnation = input.number<uint8_t>();
  lci::CallChallenge challenge = lci::challenge_to(hello, other);
  bool is_right = change(input, &challenge);
  is_right = send_pieces(input, socket.get(), challenge, go_on) && is_right && other.secret == self.secret &&
             other.incarnation == address.incarnation;
  lci::Digest proof{};
  FUZZ_EXPECT(becomes(is_right, [&] {
    go_on();
    return receive(socket.get(), &proof);
  }));
  if (is_right) FUZZ_EXPECT(proof.bytes == lci::proof_of_caller(hello, challenge, self).bytes);
  const lci::CallVerdict said{input.number<uint8_t>() % 6u, input.number<uint32_t>(), input.number<uint64_t>()};
  lci::Digest binding = lci::binding_of(hello, challenge, other);
  is_right &= change(input, &binding);
  int ends[2];
  FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const FileDescriptor from(ends[0]), to(ends[1]);
  lci::ProvedVerdict verdict{};
  FUZZ_EXPECT(lci::send_verdict(from.get(), said, binding) && receive(to.get(), &verdict));
  is_right &= change(input, &verdict);
  is_right &= send_pieces(input, socket.get(), verdict, go_on);
  FUZZ_EXPECT(becomes(is_right && said.code == lci::CallVerdict::kAccepted, [&] {
    go_on();
    return answer == lci::OutgoingCall::Answer::kAccepted;
  }));
  if (answer == lci::OutgoingCall::Answer::kAccepted) {
    FUZZ_EXPECT(call.verdict().taken == said.taken && call.verdict().connections == said.connections);
  }
  if (answer == lci::OutgoingCall::Answer::kFailed) FUZZ_EXPECT(is_right && said.code == lci::CallVerdict::kFailed);
  hang_up(socket);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quiet_log();
  const int before = lci_test::next_descriptor();
  Input input(data, size);
  if (input.number<uint8_t>() % 2) {
    run_door(input);
  } else {
    run_call(input);
  }
  FUZZ_EXPECT(lci_test::next_descriptor() == before);
  return 0;
}
