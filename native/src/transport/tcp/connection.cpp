// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lci {
namespace {

ssize_t send_parts(int socket, const iovec* parts, int count) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (count == 1) return send(socket, parts->iov_base, parts->iov_len, kFlags);  // costs the system less
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);  // which are read
  message.msg_iovlen = static_cast<size_t>(count);
  return sendmsg(socket, &message, kFlags);
}

}  // namespace

Connection::Connection(FileDescriptor socket, const CryptoLibrary* crypto, const SealKeys& keys, uint64_t most_pieces)
    : socket_(std::move(socket)) {
  if (crypto) sealed_ = std::make_unique<Sealed>(*crypto, keys, most_pieces);
}

ssize_t Connection::send(const iovec* parts, int count) {
  if (!sealed_) return send_parts(socket_.get(), parts, count);
  if (const ssize_t code = flush(); code < 0 || count == 0) return code;
  const size_t taken = seal(parts, count);
  if (taken == 0) {
    errno = ENOKEY;
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

/// As many pieces as there is room for, of the front of the parts. @return their bytes in them; 0: the key is spent
size_t Connection::seal(const iovec* parts, int count) {
  iovec rest[2] = {};
  count = std::min(count, 2);
  std::copy_n(parts, count, rest);
  sealed_->sent = sealed_->end = 0;
  size_t taken = 0;
  while (rest[0].iov_len + rest[1].iov_len != 0 && sealed_->end + kSealedPiece <= sizeof sealed_->out) {
    const size_t size = seal_piece(rest, count);
    if (size == 0) break;
    taken += size;
  }
  return taken;
}

/// The next piece; what is in it leaves the parts.
size_t Connection::seal_piece(iovec* parts, int count) {
  iovec front[2] = {};
  uint32_t size = 0;
  for (int i = 0; i < count; ++i) {
    const size_t length = std::min(parts[i].iov_len, kPiece - size);
    front[i] = {parts[i].iov_base, length};
    parts[i] = {static_cast<std::byte*>(parts[i].iov_base) + length, parts[i].iov_len - length};
    size += static_cast<uint32_t>(length);
  }
  std::byte* const out = sealed_->out + sealed_->end;
  std::memcpy(out, &size, kLength);
  if (!sealed_->outgoing.seal(front, count, out + kLength)) return 0;
  sealed_->end += kLength + size + Seal::kTag;
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
    const bool drained = came < 0 ? error == EAGAIN : came > 0 && static_cast<size_t>(came) < asked;
    *more = opened > 0 && (!drained || has_piece() || sealed_->spoiled);
    if (opened != 0) return opened;
    errno = error;
    if (came <= 0) return came;  // else no piece has come whole yet
  }
}

bool Connection::has_piece() const {
  if (!sealed_ || sealed_->came < kLength) return false;
  uint32_t size = 0;
  std::memcpy(&size, sealed_->in, kLength);
  return sealed_->came >= kLength + size + Seal::kTag;
}

/// @return the bytes of all whole pieces for which there is room, up to one that does not open
ssize_t Connection::open_pieces(std::byte* to, size_t room) {
  size_t opened = 0, at = 0;
  while (!sealed_->spoiled && sealed_->came - at >= kLength) {
    uint32_t size = 0;
    std::memcpy(&size, sealed_->in + at, kLength);
    const size_t piece = kLength + size + Seal::kTag;
    const bool possible = size != 0 && size <= kPiece;
    if (possible && (sealed_->came - at < piece || room - opened < size)) break;
    if (!possible || !sealed_->incoming.open(sealed_->in + at + kLength, size + Seal::kTag, to + opened)) {
      sealed_->spoiled = true;
      break;
    }
    opened += size;
    at += piece;
  }
  sealed_->came -= at;
  std::memmove(sealed_->in, sealed_->in + at, sealed_->came);
  if (opened != 0 || !sealed_->spoiled) return static_cast<ssize_t>(opened);
  errno = EBADMSG;
  return -1;
}

}  // namespace lci
