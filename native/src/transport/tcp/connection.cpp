// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lci {
namespace {

ssize_t send_parts(int socket, const iovec* parts, int count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);  // which are read
  message.msg_iovlen = static_cast<size_t>(count);
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

Connection::Connection(FileDescriptor socket, const CryptoLibrary* crypto, const SealKeys& keys)
    : socket_(std::move(socket)) {
  if (crypto) sealed_ = std::make_unique<Sealed>(*crypto, keys);
}

ssize_t Connection::send(const iovec* parts, int count) {
  if (!sealed_) return send_parts(socket_.get(), parts, count);
  if (const ssize_t code = flush(); code < 0 || count == 0) return code;
  const size_t taken = seal(parts, count);
  if (taken == 0) {
    errno = ENOMEM;  // libcrypto has no other reason
    return -1;
  }
  if (flush() < 0 && errno != EAGAIN && errno != EINTR) return -1;
  return static_cast<ssize_t>(taken);
}

/// 0: nothing is left.
ssize_t Connection::flush() {
  while (!is_flushed()) {
    const iovec rest{sealed_->out + sealed_->sent, sealed_->end - sealed_->sent};
    const ssize_t sent = send_parts(socket_.get(), &rest, 1);
    if (sent < 0) return -1;
    sealed_->sent += static_cast<size_t>(sent);
  }
  return 0;
}

/// The next piece, of the front of the parts. @return their bytes in it; 0: it cannot be made
size_t Connection::seal(const iovec* parts, int count) {
  iovec front[2] = {};
  uint32_t size = 0;
  int used = 0;
  for (; used < std::min(count, 2) && size < kPiece; ++used) {
    front[used] = {parts[used].iov_base, std::min(parts[used].iov_len, kPiece - size)};
    size += static_cast<uint32_t>(front[used].iov_len);
  }
  std::memcpy(sealed_->out, &size, kLength);
  if (!sealed_->outgoing.seal(front, used, sealed_->out + kLength)) return 0;
  sealed_->sent = 0;
  sealed_->end = kLength + size + Seal::kTag;
  return size;
}

ssize_t Connection::receive(std::byte* to, size_t room, bool* more) {
  if (!sealed_) {
    const ssize_t came = recv(socket_.get(), to, room, MSG_DONTWAIT);
    *more = came == static_cast<ssize_t>(room);
    return came;
  }
  for (;;) {
    const size_t asked = sizeof sealed_->in - sealed_->came;
    const ssize_t came = asked == 0 ? 0 : recv(socket_.get(), sealed_->in + sealed_->came, asked, MSG_DONTWAIT);
    const int error = errno;
    if (came > 0) sealed_->came += static_cast<size_t>(came);
    const ssize_t opened = open_pieces(to, room);
    *more = opened > 0;  // the next call finds out
    if (opened != 0) return opened;
    errno = error;
    if (came <= 0) return came;  // else no piece has come whole yet
  }
}

/// @return the bytes of all whole pieces for which there is room
ssize_t Connection::open_pieces(std::byte* to, size_t room) {
  size_t opened = 0, at = 0;
  while (sealed_->came - at >= kLength) {
    uint32_t size = 0;
    std::memcpy(&size, sealed_->in + at, kLength);
    if (size == 0 || size > kPiece) {
      errno = EBADMSG;
      return -1;
    }
    const size_t piece = kLength + size + Seal::kTag;
    if (sealed_->came - at < piece || room - opened < size) break;
    if (!sealed_->incoming.open(sealed_->in + at + kLength, size + Seal::kTag, to + opened)) {
      errno = EBADMSG;
      return -1;
    }
    opened += size;
    at += piece;
  }
  sealed_->came -= at;
  std::memmove(sealed_->in, sealed_->in + at, sealed_->came);
  return static_cast<ssize_t>(opened);
}

}  // namespace lci
