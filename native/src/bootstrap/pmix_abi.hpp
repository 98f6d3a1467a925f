// SPDX-License-Identifier: Apache-2.0
// As much of the binary interface of libpmix.so.2 as is used here, for PMIx 3 to 5 on 64-bit systems. The library is
// loaded where a launcher needs it, so nothing of it is there when this is compiled. Larger values than those of
// version 2 do no harm: only one at a time is handed over.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci::pmix {

inline constexpr int kSuccess = 0;
inline constexpr int kNotFound = -46;
inline constexpr int kDoneAtOnce = -157;  ///< Nobody is called back.

/// The rank under which the values of a whole job stand.
inline constexpr uint32_t kWholeJob = UINT32_MAX - 1;
/// A value that all processes of the job may read.
inline constexpr uint8_t kForAll = 3;

inline constexpr char kJobSize[] = "pmix.job.size";
inline constexpr char kCollect[] = "pmix.collect";      ///< A fence hands all values out.
inline constexpr char kImmediate[] = "pmix.immediate";  ///< A value that is missing is not waited for.

inline constexpr uint16_t kBool = 1, kString = 3, kUint32 = 14;

struct Process {
  char job[256];
  uint32_t rank;
};

struct Value {
  uint16_t type;
  union {
    bool flag;
    uint32_t number;
    char* string;
    void* room[3];
  };
};

struct Info {
  char key[512];
  uint32_t directives;
  Value value;
};

static_assert(sizeof(void*) == 8);
static_assert(sizeof(Process) == 260 && offsetof(Process, rank) == 256);
static_assert(sizeof(Value) == 32 && offsetof(Value, string) == 8);
static_assert(sizeof(Info) == 552 && offsetof(Info, directives) == 512 && offsetof(Info, value) == 520);

using Done = void (*)(int status, void* context);
using Got = void (*)(int status, Value* value, void* context);

using Init = int (*)(Process* self, Info* infos, size_t count);
using Finalize = int (*)(const Info* infos, size_t count);
using Put = int (*)(uint8_t scope, const char* key, Value* value);
using Commit = int (*)();
using Fence = int (*)(const Process* whom, size_t processes, const Info* infos, size_t count, Done done, void* context);
using Get = int (*)(const Process* whose, const char* key, const Info* infos, size_t count, Got got, void* context);
using ErrorText = const char* (*)(int status);

}  // namespace lci::pmix
