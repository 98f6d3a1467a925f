// SPDX-License-Identifier: Apache-2.0
// A region of every rank, open at every rank: what tests of put and get write to and read.
#pragma once

#include "conformance/world.hpp"

namespace lci_test {

class Windows {
 public:
  /// Memory of @p bytes that the rank allocates. Every rank makes it at the same place of the test.
  Windows(World& world, uint64_t bytes) : runtime_(world.runtime()) {
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(runtime_, bytes, &memory_, &address)) << lci_last_error();
    mine_ = static_cast<uint8_t*>(address);
    Bytes handle(LCI_MEMORY_HANDLE_SIZE);
    EXPECT_EQ(LCI_DONE, lci_memory_handle(memory_, handle.data(), handle.size())) << lci_last_error();
    const std::vector<Bytes> handles = world.gather(handle);
    for (uint32_t rank = 0; rank < world.size(); ++rank) {
      uint64_t id = 0;
      EXPECT_EQ(LCI_DONE, lci_remote_open(runtime_, rank, handles[rank].data(), handles[rank].size(), &id, nullptr))
          << lci_last_error();
      ids_.push_back(id);
    }
  }
  /// After a barrier: nobody may be at it any more.
  ~Windows() {
    for (const uint64_t id : ids_) EXPECT_EQ(LCI_DONE, lci_remote_close(runtime_, id)) << lci_last_error();
    EXPECT_EQ(LCI_DONE, lci_memory_free(memory_)) << lci_last_error();
  }
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  uint8_t* mine() const { return mine_; }
  /// For the member `remote` of descriptors.
  uint64_t of(uint32_t rank) const { return ids_[rank]; }

 private:
  lci_runtime* const runtime_;
  lci_memory* memory_ = nullptr;
  uint8_t* mine_ = nullptr;
  std::vector<uint64_t> ids_;
};

}  // namespace lci_test
