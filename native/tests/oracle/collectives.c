/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives give by us: collectives PART FOLDER NAME makes each call by every algorithm, in place and not, and
 * writes a line for each to FOLDER/NAME.RANK: call, algorithm, place, digest. Ends with 1 if an algorithm is refused
 * that can serve the call, or serves one that it cannot; if memory beside the result was written; or if a result is
 * wrong by the model, where that judges. Attribute ranks_per_host is read from the environment. */
#define _POSIX_C_SOURCE 200809L
#include <sched.h>

#include "../c/job.h"
#include "model.h"

enum { kGuard = 64, kPatience = 120 /* s */ };

static lci_device* device;
static lci_context* context;
static lci_comp* ended;

/* Which algorithms there are, as lci.h says. */
enum need { kNone, kPowerOfTwo, kEven, kHosts /* some members share one, and not all do */ };
static const struct algorithm {
  uint8_t kind, number, need, listed;
  const char* name;
} kAlgorithms[] = {
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_BINOMIAL, kNone, 0, "binomial"},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_KNOMIAL, kNone, 0, "k-nomial"},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_CHAIN, kNone, 0, "chain"},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_SCATTER_ALLGATHER, kNone, 0, "scatter-allgather"},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_HIERARCHICAL, kHosts, 0, "hierarchical"},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_BINOMIAL, kNone, 0, "binomial"},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_RABENSEIFNER, kNone, 0, "rabenseifner"},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_HIERARCHICAL, kHosts, 0, "hierarchical"},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RECURSIVE_DOUBLING, kNone, 0, "recursive-doubling"},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, kPowerOfTwo, 0, "rabenseifner"},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RING, kNone, 0, "ring"},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_HIERARCHICAL, kHosts, 0, "hierarchical"},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RECURSIVE_HALVING, kPowerOfTwo, 1, "recursive-halving"},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_PAIRWISE, kNone, 1, "pairwise"},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RING, kNone, 1, "ring"},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_BRUCK, kNone, 1, "bruck"},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RECURSIVE_DOUBLING, kPowerOfTwo, 1, "recursive-doubling"},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RING, kNone, 1, "ring"},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, kEven, 1, "neighbour-exchange"},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_HIERARCHICAL, kHosts, 0, "hierarchical"},
    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_LINEAR, kNone, 1, "linear"},
    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_BINOMIAL, kNone, 0, "binomial"},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_LINEAR, kNone, 1, "linear"},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_BINOMIAL, kNone, 0, "binomial"},
    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK, kNone, 0, "bruck"},
    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_PAIRWISE, kNone, 1, "pairwise"},
    {LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, kNone, 0, "recursive-doubling"},
    {LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, kNone, 0, "recursive-doubling"},
    {LCI_COLLECTIVE_NEIGHBOURS, LCI_ALGORITHM_DIRECT, kNone, 0, "direct"},
};
static const struct algorithm kAuto = {0, LCI_ALGORITHM_AUTO, kNone, 1, "auto"};

static const struct algorithm* find_algorithm(int kind, uint32_t number) {
  if (number == LCI_ALGORITHM_AUTO) return &kAuto;
  for (size_t i = 0; i < sizeof kAlgorithms / sizeof *kAlgorithms; ++i) {
    if (kAlgorithms[i].kind == kind && kAlgorithms[i].number == number) return &kAlgorithms[i];
  }
  return NULL;
}

/* Of the job that the environment describes. */
static bool shares_some_hosts(void) {
  const char* const given = getenv("LCI_ATTR_RANKS_PER_HOST");
  const uint32_t per_host = given ? (uint32_t)strtoul(given, NULL, 10) : 0;
  return per_host > 1 && per_host < size;
}

static bool can_serve(const struct algorithm* algorithm, const struct call* call) {
  if (algorithm == NULL || (call->listed && !algorithm->listed)) return false;
  if (algorithm->need == kHosts) return shares_some_hosts();
  if (algorithm->need == kPowerOfTwo) return (size & (size - 1)) == 0;
  return algorithm->need != kEven || size % 2 == 0;
}

/* Of a call with a list the root alone knows that a tree cannot serve it, so nobody may ask for one. */
static bool may_be_asked(const struct call* call, uint32_t number) {
  const bool rooted = call->kind == LCI_COLLECTIVE_GATHER || call->kind == LCI_COLLECTIVE_SCATTER;
  return !(rooted && call->listed && number == LCI_ALGORITHM_BINOMIAL);
}

/* --- memory of one call --- */

/* Memory between two guards; with an odd count of elements, not aligned. */
struct area {
  unsigned char* memory;
  unsigned char* bytes;
  uint64_t size;
};

static struct area new_area(const struct call* call, uint64_t bytes) {
  const uint64_t odd = call->count % 2;
  struct area area = {malloc(bytes + 2 * kGuard + 1), NULL, bytes};
  check(area.memory != NULL, "no memory");
  memset(area.memory, 0xA5, bytes + 2 * kGuard + 1);
  area.bytes = area.memory + kGuard + odd;
  return area;
}

static bool is_kept(const unsigned char* bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes[i] != 0xA5) return false;
  }
  return true;
}

static void free_area(struct area* area, const char* name) {
  const bool kept =
      is_kept(area->memory, (uint64_t)(area->bytes - area->memory)) && is_kept(area->bytes + area->size, kGuard);
  if (!kept) fprintf(stderr, "rank %u: %s wrote beside its memory\n", rank, name);
  if (!kept) exit(1);
  free(area->memory);
}

enum place { kApart, kInPlace };

static bool may_be_in_place(const struct call* call) {
  return call->kind != LCI_COLLECTIVE_BROADCAST && call->kind != LCI_COLLECTIVE_REDUCE_SCATTER &&
         !(call->kind == LCI_COLLECTIVE_ALLTOALL && call->listed);
}

/* Where a member's two parts lie if one is in the other. */
static void lay_in_place(const struct call* call, struct area* in, struct area* out) {
  const uint64_t before = blocks_before(call, rank) * element_size(call->type);
  if (call->kind == LCI_COLLECTIVE_SCATTER) {
    if (rank == call->root) out->bytes = in->bytes + before;
  } else if (call->kind == LCI_COLLECTIVE_ALLGATHER || (call->kind == LCI_COLLECTIVE_GATHER && rank == call->root)) {
    in->bytes = out->bytes + before;
  } else if (call->kind != LCI_COLLECTIVE_GATHER && (call->kind != LCI_COLLECTIVE_REDUCE || rank == call->root)) {
    out->bytes = in->bytes;
  }
}

/* --- calls --- */

static void list_neighbours(uint64_t* list) {
  for (int sends = 1; sends >= 0; --sends) {
    const struct neighbours all = neighbours_of(size, rank, sends);
    *list++ = all.count;
    for (uint32_t i = 0; i < all.count; ++i) *list++ = all.members[i];
  }
}

/* @return whether there are counts for this member. */
static bool fill_counts(const struct call* call, uint64_t* counts) {
  if (call->kind == LCI_COLLECTIVE_NEIGHBOURS) {
    list_neighbours(counts);
    return true;
  }
  if (!call->listed) return false;
  for (uint32_t i = 0; i < size; ++i) {
    const bool pairs = call->kind == LCI_COLLECTIVE_ALLTOALL;
    counts[i] = pairs ? pair_block(call, rank, i) : block(call, i);
    counts[size + i] = pair_block(call, i, rank);
  }
  return !has_root(call->kind) || rank == call->root;
}

/* @return LCI_ERR_ARGUMENT if it cannot be served. */
static int make_call(const struct call* call, uint32_t algorithm, const void* in, void* out, const char* name) {
  uint64_t counts[2 * kMostMembers]; /* or neighbours */
  lci_collective made = {0};
  made.kind = call->kind;
  made.algorithm = algorithm;
  made.type = call->type;
  made.op = call->op;
  made.root = call->root;
  made.in = in;
  made.out = out;
  made.counts = fill_counts(call, counts) ? counts : NULL;
  made.count = call->listed && made.counts == NULL ? block(call, rank) : call->count;
  const double until = now() + kPatience;
  int code;
  while ((code = lci_post_collective(context, &made, ended, 0)) >= LCI_RETRY && code < LCI_ERR_ARGUMENT) {
    lci_progress(device);
    check(now() < until, name);
  }
  if (code == LCI_ERR_ARGUMENT) return code;
  check(code == LCI_POSTED, name);
  lci_status status;
  while (lci_queue_pop(ended, &status) != LCI_DONE) {
    if (lci_progress(device) != LCI_DONE) sched_yield();
    check(now() < until, name);
  }
  check(status.code == LCI_DONE, name);
  check(status.size == out_count(call, size, rank) * element_size(call->type), "size in the status");
  return LCI_DONE;
}

static uint64_t judge(const struct call* call, const unsigned char* out, const char* name) {
  const uint64_t bytes = out_count(call, size, rank) * element_size(call->type);
  if (!gets_result(call, size, rank)) return 0;
  if (is_judged_by_model(call)) {
    const uint64_t wrong = first_wrong(call, size, rank, (const char*)out);
    if (wrong < out_count(call, size, rank)) {
      fprintf(stderr, "rank %u: %s: element %llu is not what the model says\n", rank, name, (unsigned long long)wrong);
      exit(1);
    }
  }
  return digest(out, bytes);
}

/* Member 0 of an exclusive scan keeps what it had, and what is brought elsewhere stays. */
static void check_kept(const struct call* call, enum place place, const struct area* in, const struct area* out,
                       const char* name) {
  const size_t unit = element_size(call->type);
  const bool scan_of_0 = call->kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN && rank == 0;
  if (scan_of_0 && place == kApart) check(is_kept(out->bytes, out->size), name);
  if (place == kInPlace && !scan_of_0) return;
  for (uint64_t i = 0; i < in->size / unit; ++i) {
    char expected[16];
    write_element(call, rank, i, expected);
    check(memcmp(expected, in->bytes + i * unit, unit) == 0, name);
  }
}

static void run(const struct call* call, uint32_t number, enum place place, FILE* digests) {
  const struct algorithm* const algorithm = find_algorithm(call->kind, number);
  const size_t unit = element_size(call->type);
  char named[128], name[192];
  name_call(call, named, sizeof named);
  snprintf(name, sizeof name, "%s %s %s", named, algorithm ? algorithm->name : "none",
           place == kApart ? "apart" : "in-place");
  const bool broadcast = call->kind == LCI_COLLECTIVE_BROADCAST;
  struct area own_in = new_area(call, broadcast ? 0 : in_count(call, size, rank) * unit);
  struct area own_out = new_area(call, out_count(call, size, rank) * unit);
  struct area in = own_in, out = own_out;
  if (place == kInPlace) lay_in_place(call, &in, &out);
  write_elements(call, rank, in_count(call, size, rank), broadcast ? out.bytes : in.bytes);
  const int code = make_call(call, number, broadcast ? NULL : in.bytes, out.bytes, name);
  if ((code == LCI_DONE) != can_serve(algorithm, call)) {
    fprintf(stderr, "rank %u: %s (algorithm %u) %s\n", rank, name, number,
            code == LCI_DONE ? "was served" : lci_last_error());
    exit(1);
  }
  if (code == LCI_DONE) {
    fprintf(digests, "%s %016llx\n", name, (unsigned long long)judge(call, out.bytes, name));
    check_kept(call, place, &in, &out, name);
  }
  free_area(&own_in, name);
  free_area(&own_out, name);
}

/* Where ranks share hosts, what looks at that; elsewhere all. */
static bool is_compared(uint32_t number) {
  if (number == LCI_ALGORITHM_ARENA_LINE || number == LCI_ALGORITHM_ARENA_SLOTS)
    return false; /* chosen where it can be */
  return !shares_some_hosts() || number == LCI_ALGORITHM_AUTO || number == LCI_ALGORITHM_HIERARCHICAL;
}

/* All algorithms; with `operators` the one that the core chooses. */
static void run_all(const struct call* call, bool operators, FILE* digests) {
  for (uint32_t number = LCI_ALGORITHM_AUTO; number <= (operators ? LCI_ALGORITHM_AUTO : LCI_ALGORITHM_HIERARCHICAL);
       ++number) {
    if (!is_compared(number) || !may_be_asked(call, number)) continue;
    run(call, number, kApart, digests);
    if (may_be_in_place(call)) run(call, number, kInPlace, digests);
  }
}

static void join(lci_runtime** runtime) {
  lci_group* group = NULL;
  uint32_t ranks[kMostMembers];
  check(lci_runtime_create(NULL, NULL, 0, runtime) == LCI_DONE, "join");
  rank = lci_runtime_rank(*runtime);
  size = lci_runtime_size(*runtime);
  check(size <= kMostMembers, "too many ranks");
  for (uint32_t i = 0; i < size; ++i) ranks[i] = i;
  check(lci_runtime_device(*runtime, 0, &device) == LCI_DONE, "device");
  check(lci_queue_create(*runtime, 16, &ended) == LCI_DONE, "queue");
  check(lci_group_create(*runtime, ranks, size, 0, &group) == LCI_DONE, "group");
  check(lci_context_create(group, 0, 0, &context) == LCI_DONE, "context");
}

int main(int argc, char** argv) {
  lci_runtime* runtime = NULL;
  if (argc != 4) {
    fprintf(stderr, "usage: collectives PART FOLDER NAME\n");
    return 2;
  }
  join(&runtime);
  const struct calls calls = make_calls(argv[1], size);
  FILE* const digests = open_digests(argv[2], argv[3], rank);
  for (size_t i = 0; i < calls.size; ++i) run_all(&calls.list[i], strcmp(argv[1], "operators") == 0, digests);
  fclose(digests);
  free(calls.list);
  check(lci_context_free(context) == LCI_DONE, "free context");
  check(lci_runtime_close(runtime, 10000) == LCI_DONE, "close");
  return 0;
}
