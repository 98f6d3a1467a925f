/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.Codec;
import io.lci.collective.Algorithm;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Makes calls of one member of a group, and refuses what cannot be one. Any thread. */
final class CallMaker {
  private final CallCheck check;
  private final int own;
  private final int size;
  private final Algorithm algorithm;

  /**
   * @param own the number of this member
   * @param size members
   */
  CallMaker(CoreRuntime core, int own, int size) {
    this(new CallCheck(core.identity, size), own, size, Algorithm.AUTO);
  }

  private CallMaker(CallCheck check, int own, int size, Algorithm algorithm) {
    this.check = check;
    this.own = own;
    this.size = size;
    this.algorithm = algorithm;
  }

  CallMaker with(Algorithm other) {
    return new CallMaker(check, own, size, Objects.requireNonNull(other, "algorithm"));
  }

  /** A call with a codec has an algorithm of its own. */
  void withCodec(Codec<?> codec) {
    Objects.requireNonNull(codec, "codec");
    refuseAlgorithm("a call with a codec");
  }

  /** Whether code of the program combines {@code in}; then data of all members is in one array. */
  boolean isReduced(Vec in, ReduceOp op) {
    if (op.reducer() == null) {
      return false;
    }
    refuseAlgorithm("a call by a Reducer");
    if (in.bytes() > (Integer.MAX_VALUE - 64) / size) {
      throw new IllegalArgumentException(
          "a Reducer combines up to 2 GiB of all " + size + " members: " + in);
    }
    return true;
  }

  CallCheck check() {
    return check;
  }

  private void refuseAlgorithm(String what) {
    if (algorithm != Algorithm.AUTO) {
      throw new IllegalArgumentException(algorithm + " is no algorithm of " + what);
    }
  }

  /** Whether this member is the root, which must be a member. */
  boolean isRoot(int root) {
    check.root(root);
    return own == root;
  }

  private CallData.Builder call(CollectiveKind kind) {
    check.serves(algorithm, kind);
    return new CallData.Builder(kind, algorithm);
  }

  CallData barrier() {
    return call(CollectiveKind.BARRIER).build();
  }

  CallData broadcast(int root, Vec data) {
    check.root(root);
    check.vec("data", data);
    CallData.Builder call = call(CollectiveKind.BROADCAST).root(root).count(data.count());
    if (own == root) {
      return call.leaves(data, true).build();
    }
    check.writable("data", data);
    return call.writes(data).build();
  }

  // Combining

  CallData reduce(int root, Vec in, @Nullable Vec out, ReduceOp op) {
    check.root(root);
    check.vec("in", in);
    check.op(op, in);
    CallData.Builder call = call(CollectiveKind.REDUCE).root(root).op(op);
    call.reads(in).count(in.count());
    if (own == root) {
      Vec result = check.result(in, out, in.count());
      check.apart(in, result);
      call.writes(result);
    }
    return call.build();
  }

  CallData allReduce(Vec in, Vec out, ReduceOp op) {
    return combined(CollectiveKind.ALL_REDUCE, in, out, op).writes(out).build();
  }

  CallData scan(Vec in, Vec out, ReduceOp op) {
    return combined(CollectiveKind.SCAN, in, out, op).writes(out).build();
  }

  CallData exclusiveScan(Vec in, Vec out, ReduceOp op) {
    CallData.Builder call = combined(CollectiveKind.EXCLUSIVE_SCAN, in, out, op);
    return (own == 0 ? call.leaves(out, false) : call.writes(out)).build();
  }

  /** What makes as many elements of as many. */
  private CallData.Builder combined(CollectiveKind kind, Vec in, Vec out, ReduceOp op) {
    check.vec("in", in);
    check.result(in, out, in.count());
    check.op(op, in);
    check.apart(in, out);
    return call(kind).op(op).reads(in).count(in.count());
  }

  CallData reduceScatter(Vec in, Vec out, ReduceOp op) {
    check.vec("in", in);
    check.result(in, out, check.block("in", in));
    check.op(op, in);
    check.apart(in, out);
    return call(CollectiveKind.REDUCE_SCATTER)
        .op(op)
        .reads(in)
        .writes(out)
        .count(out.count())
        .build();
  }

  CallData reduceScatter(Vec in, Vec out, long[] counts, ReduceOp op) {
    check.vec("in", in);
    long[] list = check.counts("counts", counts, "in", in);
    check.result(in, out, list[own]);
    check.op(op, in);
    check.apart(in, out);
    return call(CollectiveKind.REDUCE_SCATTER).op(op).reads(in).writes(out).counts(list).build();
  }

  // Moving

  CallData allGather(Vec in, Vec out) {
    check.vec("in", in);
    check.result(in, out, Math.multiplyExact(in.count(), size));
    check.ownBlock(in, out, in.bytes() * own);
    return call(CollectiveKind.ALL_GATHER).reads(in).writes(out).count(in.count()).build();
  }

  CallData allGather(Vec in, Vec out, long[] counts) {
    check.vec("in", in);
    CallData.Builder call = call(CollectiveKind.ALL_GATHER).reads(in);
    return gathered(call, in, out, counts).build();
  }

  CallData gather(int root, Vec in, @Nullable Vec out) {
    CallData.Builder call = toRoot(root, in);
    if (own == root) {
      Vec all = check.result(in, out, Math.multiplyExact(in.count(), size));
      check.ownBlock(in, all, in.bytes() * own);
      call.writes(all);
    }
    return call.build();
  }

  CallData gather(int root, Vec in, @Nullable Vec out, long @Nullable [] counts) {
    CallData.Builder call = toRoot(root, in);
    if (own == root) {
      gathered(call, in, out, counts);
    }
    return call.build();
  }

  private CallData.Builder toRoot(int root, Vec in) {
    check.root(root);
    check.vec("in", in);
    return call(CollectiveKind.GATHER).root(root).reads(in).count(in.count());
  }

  /** Blocks of different lengths go to {@code given}; this member brings one of them. */
  private CallData.Builder gathered(
      CallData.Builder call, Vec in, @Nullable Vec given, long @Nullable [] counts) {
    Vec out = check.vec("out", given);
    long[] list = check.counts("counts", counts, "out", out);
    check.elements("in", in, list[own]);
    check.result(in, out, out.count());
    check.ownBlock(in, out, before(list) * in.type().bytes());
    return call.counts(list).writes(out);
  }

  CallData scatter(int root, @Nullable Vec in, Vec out) {
    CallData.Builder call = fromRoot(root, out);
    if (own == root) {
      Vec all = check.vec("in", in);
      check.elements("in", all, Math.multiplyExact(out.count(), size));
      check.result(all, out, out.count());
      check.blockOf(all, out, out.bytes() * own);
      call.reads(all);
    }
    return call.build();
  }

  CallData scatter(int root, @Nullable Vec in, Vec out, long @Nullable [] counts) {
    CallData.Builder call = fromRoot(root, out);
    if (own == root) {
      Vec all = check.vec("in", in);
      long[] list = check.counts("counts", counts, "in", all);
      check.result(all, out, list[own]);
      check.blockOf(all, out, before(list) * out.type().bytes());
      call.reads(all).counts(list);
    }
    return call.build();
  }

  private CallData.Builder fromRoot(int root, Vec out) {
    check.root(root);
    check.vec("out", out);
    check.writable("out", out);
    return call(CollectiveKind.SCATTER).root(root).writes(out).count(out.count());
  }

  /** Elements of the blocks of lower members. */
  private long before(long[] counts) {
    return Arrays.stream(counts, 0, own).sum();
  }

  CallData allToAll(Vec in, Vec out) {
    check.vec("in", in);
    check.result(in, out, in.count());
    check.apart(in, out);
    return call(CollectiveKind.ALL_TO_ALL)
        .reads(in)
        .writes(out)
        .count(check.block("in", in))
        .build();
  }

  CallData allToAll(Vec in, long[] sendCounts, Vec out, long[] receiveCounts) {
    check.vec("in", in);
    check.vec("out", out);
    long[] sent = check.counts("sendCounts", sendCounts, "in", in);
    long[] got = check.counts("receiveCounts", receiveCounts, "out", out);
    if (sent[own] != got[own]) {
      throw new IllegalArgumentException(
          "this member has " + sent[own] + " elements for itself, and would get " + got[own]);
    }
    check.result(in, out, out.count());
    check.apart(in, out);
    long[] both = LongStream.concat(Arrays.stream(sent), Arrays.stream(got)).toArray();
    return call(CollectiveKind.ALL_TO_ALL).reads(in).writes(out).counts(both).build();
  }

  CallData neighbours(int[] to, Vec in, int[] from, Vec out) {
    check.others("to", to, own);
    check.vec("in", in);
    check.others("from", from, own);
    check.vec("out", out);
    long blockOut = check.block("in", in, to.length);
    long blockIn = check.block("out", out, from.length);
    if (to.length > 0 && from.length > 0 && blockOut != blockIn) {
      throw new IllegalArgumentException(
          "blocks have one length: in has " + blockOut + " elements for each, out " + blockIn);
    }
    check.result(in, out, out.count());
    check.apart(in, out);
    return call(CollectiveKind.NEIGHBOURS)
        .reads(in)
        .writes(out)
        .count(to.length > 0 ? blockOut : blockIn)
        .counts(neighbourList(to, from))
        .build();
  }

  /** How many get a block, and who; of how many there is one, and of whom. */
  private static long[] neighbourList(int[] to, int[] from) {
    return LongStream.concat(
            LongStream.concat(LongStream.of(to.length), Arrays.stream(to).asLongStream()),
            LongStream.concat(LongStream.of(from.length), Arrays.stream(from).asLongStream()))
        .toArray();
  }
}
