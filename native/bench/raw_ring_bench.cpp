/* SPDX-License-Identifier: Apache-2.0 */
// What a single-producer ring in shared memory can carry when nothing else is done: no credits, no matching, no
// completion. The upper bound that the core's rates and bandwidths are held against.
//   am_rate         8-byte messages in 64-byte slots, indices published every 32 messages
//   bandwidth_SIZE  messages copied in by the producer and out by the consumer
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "common/yardstick.hpp"

namespace {

using namespace lci::bench;

/// Positions of a ring, each on a line of its own; both sides keep a copy of the other's and look again only when the
/// copy says full or empty.
struct Positions {
  alignas(128) std::atomic<std::uint64_t> tail{0};
  alignas(128) std::atomic<std::uint64_t> head{0};
  alignas(128) Meeting meeting;
};

/// Waits until @p other, last seen as @p seen, has passed @p wanted.
std::uint64_t wait_past(const std::atomic<std::uint64_t>& other, std::uint64_t seen, std::uint64_t wanted) {
  for (Spin spin; seen < wanted; seen = other.load(std::memory_order_acquire)) {
    spin();
  }
  return seen;
}

constexpr int kRounds = 2;  // The first one warms up.

// ---- rate ----------------------------------------------------------------------------------------------------------

constexpr std::uint64_t kSlots = 1024;
constexpr std::uint64_t kBatch = 32;
const std::uint64_t kMessages = dosed(10'000'000, 1000);

struct alignas(64) Slot {
  std::uint64_t header;
  std::uint64_t payload;
};

struct SlotRing {
  Positions at;
  Slot slots[kSlots];
};

void produce(SlotRing& ring, std::uint64_t begin) {
  std::uint64_t head = begin;
  for (std::uint64_t i = begin; i < begin + kMessages; i++) {
    if (i >= head + kSlots) {
      ring.at.tail.store(i, std::memory_order_release);
      head = wait_past(ring.at.head, head, i - kSlots + 1);
    }
    ring.slots[i % kSlots].payload = i;
    ring.slots[i % kSlots].header = ~i;
    if ((i + 1) % kBatch == 0) {
      ring.at.tail.store(i + 1, std::memory_order_release);
    }
  }
  ring.at.tail.store(begin + kMessages, std::memory_order_release);
  wait_past(ring.at.head, head, begin + kMessages);
}

/// Reads all messages; ends the process if one is wrong.
void consume(SlotRing& ring, std::uint64_t begin) {
  std::uint64_t tail = begin;
  for (std::uint64_t i = begin; i < begin + kMessages; i++) {
    if (i == tail) {
      ring.at.head.store(i, std::memory_order_release);
      tail = wait_past(ring.at.tail, tail, i + 1);
    }
    const Slot& slot = ring.slots[i % kSlots];
    if (slot.payload != i || slot.header != ~i) {
      std::fprintf(stderr, "message %llu is damaged\n", static_cast<unsigned long long>(i));
      _exit(1);
    }
    if ((i + 1) % (kSlots / 4) == 0) {
      ring.at.head.store(i + 1, std::memory_order_release);
    }
  }
  ring.at.head.store(begin + kMessages, std::memory_order_release);
}

void measure_rate() {
  auto& ring = *new (shared_memory(sizeof(SlotRing))) SlotRing;
  double seconds = 0;
  in_two_processes(
      [&] {
        for (int round = 0; round < kRounds; round++) {
          ring.at.meeting.wait(round + 1);
          double start = now_s();
          produce(ring, static_cast<std::uint64_t>(round) * kMessages);
          seconds = now_s() - start;
        }
      },
      [&] {
        for (int round = 0; round < kRounds; round++) {
          ring.at.meeting.wait(round + 1);
          consume(ring, static_cast<std::uint64_t>(round) * kMessages);
        }
      });
  print_metric("am_rate", "Mmsg/s", static_cast<double>(kMessages) / seconds / 1e6);
}

// ---- bandwidth -----------------------------------------------------------------------------------------------------

struct Shape {
  const char* metric;
  std::size_t message;
  std::size_t cell;  ///< A message travels in cells of this size.
  std::size_t cells;
};

// A mebibyte in all: in a smaller ring the producer writes to lines that the consumer's cache still holds, which costs
// more than the copy.
constexpr Shape kShapes[] = {
    {"bandwidth_1k", 1024, 1024, 1024},
};
const std::size_t kBytes = dosed(1u << 30, 4u << 20);

/// Calls copy(offset of the cell in the ring, offset in the message) for each cell of all messages.
template <typename Copy>
void for_each_cell(const Shape& shape, std::uint64_t& position, Copy&& copy) {
  for (std::size_t done = 0; done < kBytes; done += shape.message) {
    for (std::size_t offset = 0; offset < shape.message; offset += shape.cell) {
      copy(position % shape.cells * shape.cell, offset);
      position++;
    }
  }
}

void send_all(const Shape& shape, Positions& at, char* cells, const char* source, std::uint64_t& position) {
  std::uint64_t head = position;
  for_each_cell(shape, position, [&](std::size_t cell, std::size_t offset) {
    if (position >= head + shape.cells) {
      head = wait_past(at.head, head, position - shape.cells + 1);
    }
    std::memcpy(cells + cell, source + offset, shape.cell);
    at.tail.store(position + 1, std::memory_order_release);
  });
  wait_past(at.head, head, position);
}

void receive_all(const Shape& shape, Positions& at, const char* cells, char* target, std::uint64_t& position) {
  std::uint64_t tail = position;
  const std::size_t quarter = shape.cells < 4 ? 1 : shape.cells / 4;
  for_each_cell(shape, position, [&](std::size_t cell, std::size_t offset) {
    tail = wait_past(at.tail, tail, position + 1);
    std::memcpy(target + offset, cells + cell, shape.cell);
    if ((position + 1) % quarter == 0) {
      at.head.store(position + 1, std::memory_order_release);
    }
  });
  at.head.store(position, std::memory_order_release);
}

void measure_bandwidth(const Shape& shape) {
  auto& at = *new (shared_memory(sizeof(Positions))) Positions;
  auto* cells = static_cast<char*>(shared_memory(shape.cell * shape.cells));
  std::vector<char> mine(shape.message, 'x');
  double seconds = 0;
  std::uint64_t position = 0;
  in_two_processes(
      [&] {
        for (int round = 0; round < kRounds; round++) {
          at.meeting.wait(round + 1);
          double start = now_s();
          send_all(shape, at, cells, mine.data(), position);
          seconds = now_s() - start;
        }
      },
      [&] {
        for (int round = 0; round < kRounds; round++) {
          at.meeting.wait(round + 1);
          receive_all(shape, at, cells, mine.data(), position);
        }
      });
  print_metric(shape.metric, "GB/s", static_cast<double>(kBytes) / seconds / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  bool found = *wanted == '\0';
  if (*wanted == '\0' || std::strcmp(wanted, "am_rate") == 0) {
    measure_rate();
    found = true;
  }
  for (const Shape& shape : kShapes) {
    if (*wanted == '\0' || std::strcmp(wanted, shape.metric) == 0) {
      measure_bandwidth(shape);
      found = true;
    }
  }
  if (!found) {
    std::fprintf(stderr, "unknown metric %s; am_rate, bandwidth_1k\n", wanted);
    return 2;
  }
  return 0;
}
