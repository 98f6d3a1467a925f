// SPDX-License-Identifier: Apache-2.0
// What the bytes of a link go over: a TCP connection, sealed if the job wants it. A sealed piece is its length, of 4
// bytes, and what Seal makes of at most kPiece bytes.
//
// One thread. Nothing waits.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/file_descriptor.hpp"
#include "transport/tcp/seal.hpp"

namespace lci {

/// The keys of a connection, by direction; no two connections have the same.
struct SealKeys {
  Digest of_sender, of_receiver;  ///< This side's, and the other one's.
};

class Connection {
 public:
  static constexpr size_t kPiece = 16 << 10;

  Connection() = default;
  /// @param crypto null: nothing is sealed. std::bad_alloc.
  /// @param most_pieces that this side seals
  Connection(FileDescriptor socket, const CryptoLibrary* crypto, const SealKeys& keys,
             uint64_t most_pieces = Seal::kMostPieces);

  int socket() const { return socket_.get(); }
  bool is_there() const { return socket_.get() >= 0; }

  /// Sends from the front of @p count parts; without one, what is left of pieces. @return how many of their bytes need
  /// not be given again; -1, and errno: EAGAIN, ENOKEY if the key is spent, or the connection is gone
  ssize_t send(const iovec* parts, int count);
  /// Least room for receive().
  size_t least_room() const { return sealed_ ? kPiece : 1; }
  /// A sealed piece that has come whole waits for room: it is no longer with the system.
  bool has_piece() const;
  /// The system has all that was given.
  bool is_flushed() const { return !sealed_ || sealed_->sent == sealed_->end; }
  /// Nothing more can be given to it: what is left needs another connection, with other keys.
  bool is_spent() const { return sealed_ && sealed_->outgoing.is_spent() && is_flushed(); }
  /// It ends because a key of it is used up.
  bool is_used_up() const { return sealed_ && (sealed_->outgoing.is_spent() || sealed_->incoming.is_spent()); }
  /// @return how many bytes have come to @p to, which has room for @p room, least_room() at least; 0: the other side
  /// sends no more; -1, and errno: EAGAIN, EBADMSG from a piece on that is not what was sealed, or the connection is
  /// gone
  /// @param more more may be there
  ssize_t receive(std::byte* to, size_t room, bool* more);

 private:
  static constexpr size_t kLength = sizeof(uint32_t), kSealedPiece = kLength + kPiece + Seal::kTag;
  /// Pieces that one call of the system brings: fewer cost more calls, more let the other side wait for the first.
  static constexpr size_t kPieces = 8;
  struct Sealed {
    Sealed(const CryptoLibrary& crypto, const SealKeys& keys, uint64_t most_pieces)
        : outgoing(crypto, keys.of_sender, Seal::Use::kSeal, most_pieces),
          incoming(crypto, keys.of_receiver, Seal::Use::kOpen) {}
    Seal outgoing, incoming;
    std::byte out[kPieces * kSealedPiece];  // sent so far, of so many
    size_t sent = 0, end = 0;
    std::byte in[kPieces * kSealedPiece];  // what has come
    size_t came = 0;
    bool spoiled = false;  // a piece did not open; nothing behind it counts
  };

  ssize_t flush();
  size_t seal(const iovec* parts, int count);
  size_t seal_piece(iovec* parts, int count);
  ssize_t open_pieces(std::byte* to, size_t room);

  FileDescriptor socket_;
  std::unique_ptr<Sealed> sealed_;
};

}  // namespace lci
