// SPDX-License-Identifier: Apache-2.0
#include "protocol/pending_receives.hpp"

#include <utility>

namespace lci {

PendingReceives::~PendingReceives() {
  collect();
}

void PendingReceives::add(PostedReceive& receive, const PostedReceive::Name& name) {
  receive.entry.name = name;
  link(receive, bucket_of(name));
  ++count_;
  if (count_ > used_ && used_ < kMost) split();
}

void PendingReceives::end(PostedReceive& receive) {
  if (receive.entry.link != nullptr) {
    unlink(receive);
    --count_;
  }
  spare_.give(std::unique_ptr<PostedReceive>(&receive));
}

size_t PendingReceives::bucket_of(const PostedReceive::Name& name) const {
  // Fibonacci hashing; what is in the high bits of the product is folded onto the low ones.
  uint64_t hash =
      (name.context ^ (uint64_t{name.engine} << 48) ^ reinterpret_cast<uint64_t>(name.graph)) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 32;
  hash ^= hash >> 16;
  const size_t bucket = hash & (2 * level_ - 1);
  return bucket < used_ ? bucket : bucket & (level_ - 1);
}

void PendingReceives::link(PostedReceive& receive, size_t bucket) {
  PostedReceive*& first = buckets_[bucket];
  receive.entry.next = first;
  receive.entry.link = &first;
  if (first != nullptr) first->entry.link = &receive.entry.next;
  first = &receive;
}

void PendingReceives::unlink(PostedReceive& receive) {
  *receive.entry.link = receive.entry.next;
  if (receive.entry.next != nullptr) receive.entry.next->entry.link = receive.entry.link;
  receive.entry.link = nullptr;
}

/// One more bucket, which takes its part of what lies in the bucket that it halves.
void PendingReceives::split() {
  PostedReceive* receive = std::exchange(buckets_[used_ - level_], nullptr);
  if (++used_ == 2 * level_) level_ = used_;
  while (receive != nullptr) {
    PostedReceive* next = receive->entry.next;
    link(*receive, bucket_of(receive->entry.name));
    receive = next;
  }
}

void PendingReceives::collect() {
  for (PostedReceive* receive = returned_.take_all(); receive != nullptr;) {
    PostedReceive* next = receive->entry.next_returned;
    end(*receive);
    receive = next;
  }
}

}  // namespace lci
