/* SPDX-License-Identifier: Apache-2.0 */
/* What collectives give by MPI: collectives_mpi PART FOLDER NAME writes a line for each call to FOLDER/NAME.RANK. */
#include <mpi.h>

#include "cases.h"

static MPI_Datatype type_of(int type) {
  switch (type) {
    case LCI_TYPE_I8:
      return MPI_INT8_T;
    case LCI_TYPE_U8:
      return MPI_UINT8_T;
    case LCI_TYPE_I16:
      return MPI_INT16_T;
    case LCI_TYPE_U16:
      return MPI_UINT16_T;
    case LCI_TYPE_I32:
      return MPI_INT32_T;
    case LCI_TYPE_U32:
      return MPI_UINT32_T;
    case LCI_TYPE_I64:
      return MPI_INT64_T;
    case LCI_TYPE_U64:
      return MPI_UINT64_T;
    case LCI_TYPE_F32:
      return MPI_FLOAT;
    case LCI_TYPE_F64:
      return MPI_DOUBLE;
    case LCI_TYPE_I32_I32:
      return MPI_2INT;
    case LCI_TYPE_F32_I32:
      return MPI_FLOAT_INT;
    /* An int and behind it 4 bytes that nobody reads, where ours is 64 bits: see widen(). */
    case LCI_TYPE_I64_I64:
      return MPI_LONG_INT;
    default:
      return MPI_DOUBLE_INT;
  }
}

static MPI_Op op_of(int op) {
  const MPI_Op ops[] = {MPI_OP_NULL, MPI_SUM,    MPI_PROD, MPI_MIN, MPI_MAX,
                        MPI_MINLOC,  MPI_MAXLOC, MPI_BAND, MPI_BOR, MPI_BXOR};
  return ops[op];
}

static void widen(const struct call* call, char* out, uint64_t count) {
  if (call->type != LCI_TYPE_I64_I64 && call->type != LCI_TYPE_F64_I64) return;
  for (uint64_t i = 0; i < count; ++i) {
    int32_t narrow;
    memcpy(&narrow, out + 16 * i + 8, 4);
    memcpy(out + 16 * i + 8, &(int64_t){narrow}, 8);
  }
}

/* Lists of counts, and where their blocks begin, in the units of MPI's calls. */
struct blocks {
  int counts[kMostMembers], places[kMostMembers];
};

static void place(struct blocks* blocks, int members) {
  for (int i = 0, sum = 0; i < members; ++i) {
    blocks->places[i] = sum;
    sum += blocks->counts[i];
  }
}

static struct blocks blocks_of(const struct call* call, int members, int unit) {
  struct blocks blocks;
  for (int i = 0; i < members; ++i) blocks.counts[i] = (int)block(call, (uint32_t)i) * unit;
  place(&blocks, members);
  return blocks;
}

static void exchange(const struct call* call, int members, int own, const void* in, void* out) {
  const int unit = (int)element_size(call->type);
  struct blocks sent, got;
  for (int i = 0; i < members; ++i) {
    sent.counts[i] = (int)pair_block(call, (uint32_t)own, (uint32_t)i) * unit;
    got.counts[i] = (int)pair_block(call, (uint32_t)i, (uint32_t)own) * unit;
  }
  place(&sent, members);
  place(&got, members);
  if (call->listed) {
    MPI_Alltoallv(in, sent.counts, sent.places, MPI_BYTE, out, got.counts, got.places, MPI_BYTE, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(in, sent.counts[0], MPI_BYTE, out, got.counts[0], MPI_BYTE, MPI_COMM_WORLD);
  }
}

static void exchange_with_neighbours(const struct call* call, int members, int own, const void* in, void* out) {
  const int unit = (int)(call->count * element_size(call->type));
  const struct neighbours to = neighbours_of((uint32_t)members, (uint32_t)own, true);
  const struct neighbours from = neighbours_of((uint32_t)members, (uint32_t)own, false);
  int targets[2] = {(int)to.members[0], (int)to.members[1]};
  int sources[2] = {(int)from.members[0], (int)from.members[1]};
  const int weights[2] = {1, 1}; /* the word for none is no memory, which the compiler minds */
  MPI_Comm circle;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, (int)from.count, sources, weights, (int)to.count, targets, weights,
                                 MPI_INFO_NULL, 0, &circle);
  MPI_Neighbor_alltoall(in, unit, MPI_BYTE, out, unit, MPI_BYTE, circle);
  MPI_Comm_free(&circle);
}

/* Calls that only move bytes. */
static void move(const struct call* call, int members, int own, const void* in, void* out) {
  const struct blocks all = blocks_of(call, members, (int)element_size(call->type));
  const int mine = all.counts[own], root = call->root;
  switch (call->kind) {
    case LCI_COLLECTIVE_BROADCAST:
      if (own == root) memcpy(out, in, (size_t)mine);
      MPI_Bcast(out, mine, MPI_BYTE, root, MPI_COMM_WORLD);
      return;
    case LCI_COLLECTIVE_ALLGATHER:
      if (call->listed) {
        MPI_Allgatherv(in, mine, MPI_BYTE, out, all.counts, all.places, MPI_BYTE, MPI_COMM_WORLD);
      } else {
        MPI_Allgather(in, mine, MPI_BYTE, out, mine, MPI_BYTE, MPI_COMM_WORLD);
      }
      return;
    case LCI_COLLECTIVE_GATHER:
      if (call->listed) {
        MPI_Gatherv(in, mine, MPI_BYTE, out, all.counts, all.places, MPI_BYTE, root, MPI_COMM_WORLD);
      } else {
        MPI_Gather(in, mine, MPI_BYTE, out, mine, MPI_BYTE, root, MPI_COMM_WORLD);
      }
      return;
    case LCI_COLLECTIVE_SCATTER:
      if (call->listed) {
        MPI_Scatterv(in, all.counts, all.places, MPI_BYTE, out, mine, MPI_BYTE, root, MPI_COMM_WORLD);
      } else {
        MPI_Scatter(in, mine, MPI_BYTE, out, mine, MPI_BYTE, root, MPI_COMM_WORLD);
      }
      return;
    case LCI_COLLECTIVE_NEIGHBOURS:
      return exchange_with_neighbours(call, members, own, in, out);
    default:
      exchange(call, members, own, in, out);
  }
}

static void combine(const struct call* call, int members, const void* in, void* out) {
  const struct blocks all = blocks_of(call, members, 1);
  const MPI_Datatype type = type_of(call->type);
  const MPI_Op op = op_of(call->op);
  const int count = (int)call->count;
  switch (call->kind) {
    case LCI_COLLECTIVE_REDUCE:
      MPI_Reduce(in, out, count, type, op, call->root, MPI_COMM_WORLD);
      return;
    case LCI_COLLECTIVE_ALLREDUCE:
      MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
      return;
    case LCI_COLLECTIVE_REDUCE_SCATTER:
      if (call->listed) {
        MPI_Reduce_scatter(in, out, all.counts, type, op, MPI_COMM_WORLD);
      } else {
        MPI_Reduce_scatter_block(in, out, count, type, op, MPI_COMM_WORLD);
      }
      return;
    case LCI_COLLECTIVE_SCAN:
      MPI_Scan(in, out, count, type, op, MPI_COMM_WORLD);
      return;
    default:
      MPI_Exscan(in, out, count, type, op, MPI_COMM_WORLD);
  }
}

static void make_call(const struct call* call, int members, int own, FILE* digests) {
  const size_t unit = element_size(call->type);
  const uint64_t in_elements = in_count(call, (uint32_t)members, (uint32_t)own);
  const uint64_t out_elements = out_count(call, (uint32_t)members, (uint32_t)own);
  char* const in = malloc(in_elements * unit + 1);
  char* const out = calloc(1, out_elements * unit + 1);
  if (in == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  write_elements(call, (uint32_t)own, in_elements, in);
  if (combines(call)) {
    combine(call, members, in, out);
    widen(call, out, out_elements);
  } else {
    move(call, members, own, in, out);
  }
  char name[128];
  name_call(call, name, sizeof name);
  const bool gets = gets_result(call, (uint32_t)members, (uint32_t)own);
  fprintf(digests, "%s %016llx\n", name, (unsigned long long)(gets ? digest(out, out_elements * unit) : 0));
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  int members, own;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &members);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  if (argc != 4 || members > kMostMembers) MPI_Abort(MPI_COMM_WORLD, 2);
  const struct calls calls = make_calls(argv[1], (uint32_t)members);
  FILE* const digests = open_digests(argv[2], argv[3], (uint32_t)own);
  for (size_t i = 0; i < calls.size; ++i) {
    if (!is_judged_by_model(&calls.list[i])) make_call(&calls.list[i], members, own, digests);
  }
  fclose(digests);
  free(calls.list);
  MPI_Finalize();
  return 0;
}
