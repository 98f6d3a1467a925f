// SPDX-License-Identifier: Apache-2.0
// What comes in at the socket where ranks meet: any bytes, with any number of descriptors, and an arena of any content.
// A stranger is turned away and leaves no descriptor behind; what is taken is right to the last bit.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "base/clock.hpp"
#include "fuzz/input.hpp"
#include "lci/lci.h"
#include "peer/profile.hpp"
#include "support/descriptors.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/hello.hpp"
#include "transport/shm/host_address.hpp"

namespace {

using lci::FileDescriptor;
using lci_fuzz::Input;
using lci_test::next_descriptor;

constexpr uint32_t kRanks = 3, kDevices = 1;
constexpr uint64_t kReserve = 1 << 20;

/// A file in memory: its size, whether it is sealed, and how it begins come from the input.
FileDescriptor arena_of(Input& input) {
  FileDescriptor file(memfd_create("fuzz", MFD_ALLOW_SEALING));
  FUZZ_EXPECT(file.get() >= 0);
  const uint8_t shape = input.number<uint8_t>();
  const uint64_t sizes[] = {0, 100, 4095, 4096, 8192, 1 << 16, kReserve, 2 * kReserve};
  FUZZ_EXPECT(ftruncate(file.get(), static_cast<off_t>(sizes[shape % 8])) == 0);
  uint8_t header[64];
  lci::MemoryHeader right{};
  right.magic = lci::kMemoryMagic;
  right.abi = LCI_ABI_VERSION;
  right.rank = 2;
  right.size = kRanks;
  right.devices = kDevices;
  right.reserve = kReserve;
  std::memcpy(header, &right, sizeof header);
  if (shape & 8) input.copy(header, sizeof header);
  FUZZ_EXPECT(pwrite(file.get(), header, sizeof header, 0) == sizeof header);
  if (shape & 16) fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  return file;
}

/// The bytes of a hello, right but for what the input changes.
std::vector<uint8_t> words_of(Input& input) {
  lci::Hello hello{lci::kMemoryMagic, LCI_ABI_VERSION, 2, {}};
  std::memset(hello.secret, 's', sizeof hello.secret);
  std::vector<uint8_t> bytes(sizeof hello);
  std::memcpy(bytes.data(), &hello, sizeof hello);
  for (uint8_t changes = input.number<uint8_t>() % 4; changes > 0; --changes) {
    bytes[input.number<uint8_t>() % bytes.size()] = input.number<uint8_t>();
  }
  const uint8_t size = input.number<uint8_t>();
  if (size != 0) bytes.resize(size, 's');
  return bytes;
}

void run(Input& input) {
  int ends[2];
  FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  const FileDescriptor mine(ends[0]), theirs(ends[1]);
  lci::JobSecret secret;
  secret.fill('s');
  const FileDescriptor arena = arena_of(input);
  const std::vector<uint8_t> words = words_of(input);
  const size_t descriptors = input.number<uint8_t>() % 9;
  FUZZ_EXPECT(lci_test::say(theirs.get(), words.data(), words.size(), arena.get(), descriptors));
  lci::Greeter peer;
  const int before = next_descriptor();
  if (!lci::receive_hello(mine.get(), secret, kRanks, lci::now_ns() + 1'000'000'000, &peer)) {
    FUZZ_EXPECT(next_descriptor() == before);
    return;
  }
  lci::Hello said;
  FUZZ_EXPECT(words.size() == sizeof said && descriptors == 1);
  std::memcpy(&said, words.data(), sizeof said);
  FUZZ_EXPECT(said.magic == lci::kMemoryMagic && said.abi == LCI_ABI_VERSION && said.rank < kRanks);
  FUZZ_EXPECT(std::memcmp(said.secret, secret.data(), sizeof said.secret) == 0 && peer.rank == said.rank);
  std::shared_ptr<lci::Arena> mapped;
  const int code = lci::Arena::map_peer(peer.arena.release(), peer.rank, kRanks, kDevices, &mapped);
  FUZZ_EXPECT(code == LCI_DONE || !mapped);
  if (code != LCI_DONE) return;
  // What is said to be inside can be touched.
  const uint64_t offset = input.number<uint64_t>(), size = input.number<uint32_t>();
  if (mapped->contains(offset, size) && size != 0) {
    FUZZ_EXPECT(offset + size <= mapped->reserve());
    static_cast<volatile std::byte*>(mapped->at(offset))[size - 1];
  }
}

/// The descriptors that rank 0 hands out: all that were announced, or none, and never another one.
void run_handout(Input& input) {
  int ends[2];
  FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  const FileDescriptor mine(ends[0]), theirs(ends[1]);
  lci::JobSecret secret;
  secret.fill('s');
  const size_t descriptors = input.number<uint8_t>() % 9;
  lci::Handout handout{lci::kMemoryMagic, LCI_ABI_VERSION, 1, static_cast<uint32_t>(descriptors), 0, {}};
  std::memset(handout.secret, 's', sizeof handout.secret);
  std::vector<uint8_t> words(sizeof handout);
  std::memcpy(words.data(), &handout, sizeof handout);
  for (uint8_t changes = input.number<uint8_t>() % 3; changes > 0; --changes) {
    words[input.number<uint8_t>() % words.size()] = input.number<uint8_t>();
  }
  FUZZ_EXPECT(lci_test::say(theirs.get(), words.data(), words.size(), theirs.get(), descriptors));
  const int before = next_descriptor();
  std::vector<FileDescriptor> taken;
  const bool all = lci::receive_handout(mine.get(), secret, 1, 6, &taken) == lci::Heard::kAll;
  FUZZ_EXPECT(all ? taken.size() == descriptors && descriptors <= 6 : taken.empty() && next_descriptor() == before);
}

/// What a rank published of itself, right but for what the input changes.
void run_profile(Input& input) {
  lci::Profile profile = lci::new_profile();
  profile.rank = 1;
  profile.size = kRanks;
  profile.reserve = kReserve;
  profile.address = lci::encode(lci::address_of_this_process());
  const lci::Profile own = profile;
  std::vector<uint8_t> words(sizeof profile);
  std::memcpy(words.data(), &profile, sizeof profile);
  for (uint8_t changes = input.number<uint8_t>() % 4; changes > 0; --changes) {
    words[input.number<uint8_t>() % words.size()] = input.number<uint8_t>();
  }
  const size_t cut = input.number<uint8_t>() % 2 * (input.number<uint8_t>() % words.size());
  words.erase(words.end() - static_cast<ptrdiff_t>(cut), words.end());
  lci::Profile read{};
  if (lci::decode_profile(words, 1, kRanks, &read) != LCI_DONE) return;
  FUZZ_EXPECT(words.size() == sizeof read && read.rank == 1 && read.size == kRanks);
  FUZZ_EXPECT(read.reserve != 0 && read.reserve <= lci::kMaxReserve);
  lci::check_agreement(own, read);
  lci::HostAddress address{};
  if (lci::decode_address(read.address, 1, &address) != LCI_DONE) return;
  FUZZ_EXPECT(address.process > 0 && std::memchr(address.socket, 0, sizeof address.socket) &&
              std::memchr(address.boot, 0, sizeof address.boot));
  lci::check_same_host(0, lci::address_of_this_process(), 1, address);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int before = next_descriptor();
  Input input(data, size);
  run(input);
  run_handout(input);
  run_profile(input);
  FUZZ_EXPECT(next_descriptor() == before);
  return 0;
}
