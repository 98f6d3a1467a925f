// SPDX-License-Identifier: Apache-2.0
// Lists of buffers: one message from several places, into several places.
#include <algorithm>
#include <numeric>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 9;
using Shape = std::vector<uint32_t>;

std::vector<lci_buffer> split(Bytes& bytes, const Shape& shape) {
  std::vector<lci_buffer> parts;
  uint32_t at = 0;
  for (const uint32_t size : shape) {
    parts.push_back({size == 0 ? nullptr : bytes.data() + at, size});
    at += size;
  }
  return parts;
}

lci_descriptor list(uint8_t op, uint32_t rank, uint16_t port, uint64_t tag, const std::vector<lci_buffer>& parts) {
  lci_descriptor result = operation(op, rank, port, tag, parts.data(), 0, tag);
  result.flags |= LCI_FLAG_LIST;
  result.u.ref.count = parts.size();
  return result;
}

// Sent from lists, received into lists: of the same shape, of another, of one buffer, of many; short, in a packet, and
// by rendezvous; before the message and after it.
// Proves: C13
CONFORMANCE(C13, AListOnEitherSide) {
  const Shape out[] = {{0}, {8}, {1, 2, 3}, {100, 0, 93}, {3000, 4000, 500}, {20'000, 1, 0, 9999}};
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  uint64_t tag = 0;
  for (const Shape& shape : out) {
    const uint32_t size = std::accumulate(shape.begin(), shape.end(), 0u);
    Shape single(std::min(size, 50u), 1);
    single.push_back(size - std::min(size, 50u));
    Shape reversed(shape.rbegin(), shape.rend());
    Shape longer = shape;
    longer.push_back(77);
    for (const Shape& in : {shape, reversed, Shape{size}, single, longer}) {
      for (const bool before : {true, false}) {
        ++tag;
        SCOPED_TRACE(std::to_string(size) + " bytes into " + std::to_string(in.size()) + " buffers, tag " +
                     std::to_string(tag));
        Bytes bytes = pattern(size, world.rank() + tag);
        Bytes place(std::accumulate(in.begin(), in.end(), 0u), 0xEE);
        auto from = split(bytes, shape), to = split(place, in);
        uint32_t posted = 0;
        lci_status status = LCI_STATUS_INIT;
        auto receive = [&] {
          const int code = world.post(list(LCI_OP_RECV, world.previous(), 0, tag, to), ended, &status);
          ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
          posted += code == LCI_POSTED;
          std::fill(to.begin(), to.end(), lci_buffer{reinterpret_cast<void*>(8), 1});  // the list may go
        };
        if (before) receive();
        const int code = world.post(list(LCI_OP_SEND, world.next(), 0, tag, from), ended);
        ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
        posted += code == LCI_POSTED;
        if (!before) receive();
        for (; posted != 0; --posted) {
          const lci_status end = world.pop(ended);
          EXPECT_EQ(LCI_DONE, end.code);
          EXPECT_EQ(size, end.size);
          EXPECT_EQ(tag, end.user_context) << "one completion for all parts";
        }
        EXPECT_EQ(0, compare(pattern(size, world.previous() + tag).data(), place.data(), size));
        EXPECT_EQ(place.size() - size, static_cast<size_t>(std::count(place.begin() + size, place.end(), 0xEE)));
      }
    }
    ++tag;
    Bytes bytes = pattern(size, world.rank() + tag);
    const auto from = split(bytes, shape);
    const int code = world.post(list(LCI_OP_AM, world.next(), kPort, tag, from), ended);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    lci_status arrival = world.pop(inbox);
    EXPECT_EQ(size, arrival.size);
    EXPECT_EQ(0, compare(pattern(size, world.previous() + tag).data(), arrival.buffer, size));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &arrival));
    if (code == LCI_POSTED) {
      EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    }
  }
}

// What does not fit is dropped, as with one buffer, and nothing is written behind the list.
CONFORMANCE(C13, AListThatIsTooShortIsTruncated) {
  lci_comp* ended = world.queue();
  for (const uint32_t size : {100u, 1000u, 30'000u}) {
    Bytes bytes = pattern(size, world.rank()), place(size, 0xEE);
    const auto parts = split(place, {size / 4, 0, size / 4});
    lci_status truncated = LCI_STATUS_INIT;
    int code = world.post(list(LCI_OP_RECV, world.previous(), 0, size, parts), ended, &truncated);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_ERR_TRUNCATED) << code;
    int ends = code == LCI_POSTED;
    code = world.post(operation(LCI_OP_SEND, world.next(), 0, size, bytes.data(), size), ended);
    for (ends += code == LCI_POSTED; ends != 0; --ends) {
      const lci_status status = world.pop(ended);
      if (status.user_context == size) truncated = status;
    }
    EXPECT_EQ(LCI_ERR_TRUNCATED, truncated.code);
    EXPECT_EQ(size, truncated.size);
    const uint32_t kept = size / 4 * 2;
    EXPECT_EQ(0, compare(pattern(size, world.previous()).data(), place.data(), kept));
    EXPECT_EQ(size - kept, std::count(place.begin() + kept, place.end(), 0xEE));
  }
}

}  // namespace
}  // namespace lci_test
