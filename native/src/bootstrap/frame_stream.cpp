// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame_stream.hpp"

#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace lci {
namespace {

constexpr size_t kChunk = 64 * 1024;

}  // namespace

void FrameStream::post(FrameKind kind, Shared content) {
  if (broken_ || deaf_) return;
  const auto header = encode_frame_header(kind, content ? content->size() : 0);
  outgoing_.push_back({header, std::move(content)});
  send();
}

void FrameStream::send() {
  while (has_to_send()) {
    Outgoing& frame = outgoing_.front();
    if (!send_part(frame, frame.header.data(), frame.header.size(), 0)) return;
    if (frame.content && !send_part(frame, frame.content->data(), frame.content->size(), frame.header.size())) return;
    outgoing_.pop_front();
  }
}

/// Bytes that begin at @p from of the frame. Whether they have all been sent.
bool FrameStream::send_part(Outgoing& frame, const uint8_t* bytes, size_t size, size_t from) {
  while (frame.sent < from + size) {
    const size_t at = frame.sent - from;
    const Moved moved = send_some(socket_.get(), bytes + at, size - at);
    if (moved.ended) note_deaf(moved.error);
    if (moved.bytes == 0) return false;
    frame.sent += moved.bytes;
  }
  return true;
}

/// A peer that has closed may have said why before: what it sent is still to be received.
void FrameStream::note_deaf(int error) {
  deaf_ = true;
  outgoing_.clear();
  if (error_ == 0) error_ = error;
}

void FrameStream::note_end(int error) {
  broken_ = true;
  if (error_ == 0) error_ = error;
}

/// Memory grows by what has come, whatever a header announces.
void FrameStream::receive() {
  if (taken_ > 0) {
    incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<ptrdiff_t>(taken_));
    taken_ = 0;
  }
  while (!ended() && incoming_.size() < longest_ + kFrameHeaderBytes) {
    const size_t filled = incoming_.size();
    incoming_.resize(filled + kChunk);
    const Moved moved = receive_some(socket_.get(), incoming_.data() + filled, kChunk);
    incoming_.resize(filled + moved.bytes);
    if (moved.ended) note_end(moved.error);
    if (moved.bytes < kChunk) return;
  }
}

std::optional<Frame> FrameStream::next() {
  if (nonsense_ || incoming_.size() - taken_ < kFrameHeaderBytes) return std::nullopt;
  FrameKind kind{};
  uint64_t length = 0;
  const uint8_t* begin = incoming_.data() + taken_;
  nonsense_ = !decode_frame_header(begin, &kind, &length) || length > longest_;
  if (nonsense_ || incoming_.size() - taken_ - kFrameHeaderBytes < length) return std::nullopt;
  begin += kFrameHeaderBytes;
  taken_ += kFrameHeaderBytes + length;
  return Frame{kind, {begin, begin + length}};
}

std::string FrameStream::why() const {
  if (nonsense_) return "it sent what makes no sense";
  return error_ == 0 ? "its connection ended" : std::string("its connection broke: ") + std::strerror(error_);
}

void FrameStream::leave() {
  if (ended()) return;
  receive();  // a connection that is closed before all was read is reset, and what was sent may be lost
  post(FrameKind::kLeave);
  ::shutdown(socket_.get(), SHUT_WR);
}

}  // namespace lci
