// SPDX-License-Identifier: Apache-2.0
// What the ranks of a host say to each other when they meet: who they are, the secret of the job, and descriptors: each
// gives that of its arena to one of them, which hands all of them out. Anybody on the host can connect: whoever is not
// of the job is turned away, and leaves nothing behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "bootstrap/identity.hpp"
#include "host/file_descriptor.hpp"

namespace lci {

struct Hello {
  uint64_t magic;
  uint32_t abi;
  uint32_t rank;
  uint8_t secret[32];
};

/// Who has said hello.
struct Greeter {
  uint32_t rank = 0;
  pid_t process = 0;
  FileDescriptor arena;
};

bool send_hello(int socket, uint32_t rank, const JobSecret& secret, int arena_fd);

/// Reads a hello until @p deadline_ns; false for strangers: wrong size, secret, version, rank or user, or not exactly
/// one descriptor. What a stranger sent along is closed.
bool receive_hello(int socket, const JobSecret& secret, uint32_t job_size, uint64_t deadline_ns, Greeter* out);

/// Most descriptors of one message; the system takes 253.
inline constexpr uint32_t kMostDescriptors = 250;

/// So many descriptors go along, number @p first and those after it. Without any it is a word: "I have them", or "all
/// have them".
struct Handout {
  uint64_t magic;
  uint32_t abi;
  uint32_t first;
  uint32_t count;
  uint32_t reserved;
  uint8_t secret[32];
};

enum class Heard { kAll, kNothing, kNoRoom };

/// False: errno says why.
bool send_handout(int socket, uint32_t first, const int* descriptors, uint32_t count, const JobSecret& secret);

/// Reads a handout that is there and appends its descriptors. kNothing: the other one has hung up, or said something
/// else than this; kNoRoom: this process may not open so many files. Nothing stays open then.
Heard receive_handout(int socket, const JobSecret& secret, uint32_t first, uint32_t most,
                      std::vector<FileDescriptor>* out);

/// Waits until @p fd can be read or @p deadline_ns has passed.
bool wait_readable(int fd, uint64_t deadline_ns);

}  // namespace lci
