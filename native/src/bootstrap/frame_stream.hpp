// SPDX-License-Identifier: Apache-2.0
// Frames over a connection whose peer has proven itself. No call waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/tcp_wire.hpp"
#include "host/file_descriptor.hpp"
#include "host/socket.hpp"

namespace lci {

struct Frame {
  FrameKind kind;
  std::vector<uint8_t> content;
};
/// Bytes that are sent to many ranks are kept once.
using Shared = std::shared_ptr<const std::vector<uint8_t>>;
inline Shared share(std::vector<uint8_t> bytes) {
  return std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
}

class FrameStream {
 public:
  /// @p longest is the most that a frame of the peer may have.
  FrameStream(FileDescriptor socket, uint64_t longest) : socket_(std::move(socket)), longest_(longest) {}

  int socket() const { return socket_.get(); }

  /// Sends a frame, as far as there is room; the rest goes with send().
  void post(FrameKind kind, Shared content = nullptr);
  void send();
  bool has_to_send() const { return !outgoing_.empty() && !broken_ && !deaf_; }

  /// Receives what is there.
  void receive();
  /// The next frame that is whole; nothing if there is none.
  std::optional<Frame> next();

  /// There is no more to come: the connection broke, the peer ended it, or it sent what makes no sense. A send that
  /// fails is not the end: what the peer said before is still to be received.
  bool ended() const { return broken_ || nonsense_; }
  bool nonsense() const { return nonsense_; }
  /// Why it ended: "Connection reset by peer".
  std::string why() const;

  /// Says goodbye, as far as that goes without waiting, so that what was sent before arrives.
  void leave();

 private:
  struct Outgoing {
    std::array<uint8_t, kFrameHeaderBytes> header;
    Shared content;
    size_t sent = 0;
  };
  bool send_part(Outgoing& frame, const uint8_t* bytes, size_t size, size_t from);
  void note_deaf(int error);
  void note_end(int error);

  FileDescriptor socket_;
  const uint64_t longest_;
  std::deque<Outgoing> outgoing_;
  std::vector<uint8_t> incoming_;
  size_t taken_ = 0;  // of incoming_
  bool broken_ = false, nonsense_ = false;
  bool deaf_ = false;  // the peer receives no more
  int error_ = 0;
};

}  // namespace lci
