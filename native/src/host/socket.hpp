// SPDX-License-Identifier: Apache-2.0
// TCP sockets that never make their caller wait. Descriptors are closed on exec; writing to a peer that is gone gives
// an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/file_descriptor.hpp"
#include "host/socket_address.hpp"

namespace lci {

/// Listens at an address, whose port may be 0: any. It may be one that a listener before this one had a moment ago.
/// No descriptor, and errno, if that fails.
FileDescriptor listen_at(const SocketAddress& address);

/// The next connection of a listener and where it comes from; no descriptor, and errno, if there is none now.
FileDescriptor accept_from(int listener, SocketAddress* from);

/// Begins to connect. No descriptor, and errno, if that fails at once.
FileDescriptor connect_to(const SocketAddress& address);
/// How a connect that was begun has ended: 0, or errno, which is EINPROGRESS as long as it has not.
int connect_outcome(int socket);

/// Its own address: of a listener at port 0 the port it was given.
SocketAddress local_address(int socket);

/// The address of this host from which it reaches another one; none if it does not. Nothing is sent.
SocketAddress address_towards(const SocketAddress& address);

/// What send_some() and receive_some() did.
struct Moved {
  size_t bytes = 0;
  bool ended = false;  ///< The peer sends no more, or the connection is broken.
  int error = 0;       ///< errno of a broken connection; 0 if the peer has ended it in an orderly way.
};
Moved send_some(int socket, const void* bytes, size_t size);
Moved receive_some(int socket, void* out, size_t size);

/// The two systems ask each other every second whether they are there; the connection breaks (ETIMEDOUT) after
/// @p patience_ns without an answer, to the next second below, also if it is being opened, or what was sent is not
/// acknowledged. At least two seconds.
void keep_alive(int socket, uint64_t patience_ns);
/// The opposite: whatever is not acknowledged is tried for as long as the system does.
void stop_keeping_alive(int socket);

/// Whether this system asks the other one every second, when nothing else goes, if it is there. The connection stays
/// for two minutes at least.
void ask_every_second(int socket, bool asks);
/// This system has asked, sent bytes again, or asked for room, and has no answer since. A program that only does not
/// look is no silence: its system answers. Also where the system does not say.
bool is_unanswered(int socket);

/// Drops the bytes that come, as if they were lost on their way, so that the system does not acknowledge them. False if
/// it cannot.
bool stop_hearing(int socket);
/// The opposite: the peer's system sends again the bytes that were dropped.
void hear_again(int socket);

/// Sends without waiting for more to send.
void send_at_once(int socket);

/// Whether it can be read or, with @p writable, written: now, or before the deadline (CLOCK_MONOTONIC). An error
/// counts.
bool wait_for(int socket, bool writable, uint64_t deadline_ns);
/// Milliseconds for poll() until a deadline: 0 if it has passed, rounded up, so that a loop does not spin before it.
int poll_ms(uint64_t deadline_ns);

}  // namespace lci
