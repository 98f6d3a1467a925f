/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.Collectives;
import io.lci.collective.GroupStreams;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.internal.lane.CallData;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The calls of a group: checks what they are given, and leaves it to a context. Any thread. */
abstract class GroupCalls implements Collectives {
  private final CallMaker maker;

  GroupCalls(CallMaker maker) {
    this.maker = maker;
  }

  /** Makes the call, once per subscription. */
  abstract Mono<Void> make(CallData call);

  @Override
  public final Collectives with(Algorithm algorithm) {
    GroupCalls same = this;
    return new GroupCalls(maker.with(algorithm)) {
      @Override
      Mono<Void> make(CallData call) {
        return same.make(call);
      }

      @Override
      public GroupStreams streams() {
        return same.streams();
      }

      @Override
      public String toString() {
        return same + " by " + algorithm;
      }
    };
  }

  @Override
  public final Mono<Void> barrier() {
    return make(maker.barrier());
  }

  @Override
  public final Mono<Void> broadcast(int root, Vec data) {
    return make(maker.broadcast(root, data));
  }

  @Override
  public final Mono<Void> reduce(int root, Vec in, @Nullable Vec out, ReduceOp op) {
    return make(maker.reduce(root, in, out, op));
  }

  @Override
  public final Mono<Void> allReduce(Vec in, Vec out, ReduceOp op) {
    return make(maker.allReduce(in, out, op));
  }

  @Override
  public final Mono<Long> allReduce(long value, ReduceOp op) {
    return allReduce(new long[] {value}, op).map(result -> result[0]);
  }

  @Override
  public final Mono<Double> allReduce(double value, ReduceOp op) {
    Vec in = Vec.doubles(new double[] {value});
    maker.allReduce(in, in, op);
    return Mono.defer(
        () -> {
          double[] result = new double[1];
          return allReduce(in, Vec.doubles(result), op).then(Mono.fromSupplier(() -> result[0]));
        });
  }

  @Override
  public final Mono<long[]> allReduce(long[] values, ReduceOp op) {
    Vec in = Vec.longs(values);
    maker.allReduce(in, in, op); // refused now, not at a subscription
    return Mono.defer(
        () -> {
          long[] result = new long[values.length];
          return allReduce(in, Vec.longs(result), op).thenReturn(result);
        });
  }

  @Override
  public final Mono<Void> reduceScatter(Vec in, Vec out, ReduceOp op) {
    return make(maker.reduceScatter(in, out, op));
  }

  @Override
  public final Mono<Void> reduceScatter(Vec in, Vec out, long[] counts, ReduceOp op) {
    return make(maker.reduceScatter(in, out, counts, op));
  }

  @Override
  public final Mono<Void> allGather(Vec in, Vec out) {
    return make(maker.allGather(in, out));
  }

  @Override
  public final Mono<Void> allGather(Vec in, Vec out, long[] counts) {
    return make(maker.allGather(in, out, counts));
  }

  @Override
  public final Mono<Void> gather(int root, Vec in, @Nullable Vec out) {
    return make(maker.gather(root, in, out));
  }

  @Override
  public final Mono<Void> gather(int root, Vec in, @Nullable Vec out, long @Nullable [] counts) {
    return make(maker.gather(root, in, out, counts));
  }

  @Override
  public final Mono<Void> scatter(int root, @Nullable Vec in, Vec out) {
    return make(maker.scatter(root, in, out));
  }

  @Override
  public final Mono<Void> scatter(int root, @Nullable Vec in, Vec out, long @Nullable [] counts) {
    return make(maker.scatter(root, in, out, counts));
  }

  @Override
  public final Mono<Void> allToAll(Vec in, Vec out) {
    return make(maker.allToAll(in, out));
  }

  @Override
  public final Mono<Void> allToAll(Vec in, long[] sendCounts, Vec out, long[] receiveCounts) {
    return make(maker.allToAll(in, sendCounts, out, receiveCounts));
  }

  @Override
  public final Mono<Void> scan(Vec in, Vec out, ReduceOp op) {
    return make(maker.scan(in, out, op));
  }

  @Override
  public final Mono<Void> exclusiveScan(Vec in, Vec out, ReduceOp op) {
    return make(maker.exclusiveScan(in, out, op));
  }

  @Override
  public final Mono<Void> neighbours(int[] to, Vec in, int[] from, Vec out) {
    return make(maker.neighbours(to, in, from, out));
  }
}
