/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.Codec;
import io.lci.collective.Algorithm;
import io.lci.collective.CollectivePlan;
import io.lci.collective.Collectives;
import io.lci.collective.GroupStreams;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import java.util.List;
import java.util.Objects;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The calls of a group: checks what they are given, and leaves it to a context. Any thread. */
abstract class GroupCalls implements Collectives {
  private final CallMaker maker;

  GroupCalls(CallMaker maker) {
    this.maker = maker;
  }

  /**
   * Makes the call, once per subscription.
   *
   * @param result gives what is emitted when it has ended well; null: nothing
   */
  abstract <T> Mono<T> make(CallData call, @Nullable Supplier<? extends T> result);

  /** Makes a call of several parts, once per subscription. */
  abstract <T> Mono<T> make(CollectiveKind kind, Function<Parts, Mono<T>> recipe);

  /** The algorithm of such a call; AUTO if the core cannot be asked any more. */
  abstract Algorithm chosen(CallData call);

  /** A subscription of the loop of the context, which makes such calls. */
  abstract <T> Flux<T> series(CollectiveKind kind, Series<T> series);

  /** Makes the subscription. */
  interface Series<T> {
    LoopSubscription<T> of(EventLoop loop, CoreSubscriber<? super T> actual);
  }

  private Mono<Void> make(CallData call) {
    return make(call, null);
  }

  /** By the core, or by code of the program. */
  private <T> Mono<T> reduced(
      CallData call,
      Vec in,
      ReduceOp op,
      Function<ReducerCalls, Mono<Void>> byReducer,
      @Nullable Supplier<? extends T> result) {
    if (!maker.isReduced(in, op)) {
      return make(call, result);
    }
    return make(
        call.kind,
        parts ->
            byReducer
                .apply(new ReducerCalls(parts, op))
                .then(result == null ? Mono.empty() : Mono.fromSupplier(result)));
  }

  private <T> Mono<T> allReduce(Vec in, Vec out, ReduceOp op, Supplier<? extends T> result) {
    return reduced(maker.allReduce(in, out, op), in, op, c -> c.allReduce(in, out), result);
  }

  @Override
  public final Collectives with(Algorithm algorithm) {
    GroupCalls same = this;
    return new GroupCalls(maker.with(algorithm)) {
      @Override
      <T> Mono<T> make(CallData call, @Nullable Supplier<? extends T> result) {
        return same.make(call, result);
      }

      @Override
      <T> Mono<T> make(CollectiveKind kind, Function<Parts, Mono<T>> recipe) {
        return same.make(kind, recipe);
      }

      @Override
      Algorithm chosen(CallData call) {
        return same.chosen(call);
      }

      @Override
      <T> Flux<T> series(CollectiveKind kind, Series<T> series) {
        return same.series(kind, series);
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
  public final CollectivePlan.Calls plan() {
    return new PlanBuilder(this, maker);
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
    return reduced(maker.reduce(root, in, out, op), in, op, c -> c.reduce(root, in, out), null);
  }

  @Override
  public final Mono<Void> allReduce(Vec in, Vec out, ReduceOp op) {
    return reduced(maker.allReduce(in, out, op), in, op, c -> c.allReduce(in, out), null);
  }

  @Override
  public final Mono<Long> allReduce(long value, ReduceOp op) {
    return allReduce(new long[] {value}, op).map(result -> result[0]);
  }

  @Override
  public final Mono<Double> allReduce(double value, ReduceOp op) {
    Vec in = Vec.doubles(new double[] {value});
    maker.allReduce(in, in, op); // refused now, not at a subscription
    maker.isReduced(in, op);
    return Mono.defer(
        () -> {
          double[] result = new double[1];
          Vec out = Vec.doubles(result);
          return allReduce(in, out, op, () -> result[0]);
        });
  }

  @Override
  public final Mono<long[]> allReduce(long[] values, ReduceOp op) {
    Vec in = Vec.longs(values);
    maker.allReduce(in, in, op);
    maker.isReduced(in, op);
    return Mono.defer(
        () -> {
          long[] result = new long[values.length];
          return allReduce(in, Vec.longs(result), op, () -> result);
        });
  }

  @Override
  public final <T> Mono<T> allReduce(T value, Codec<T> codec, BinaryOperator<T> op) {
    maker.withCodec(codec);
    Objects.requireNonNull(value, "value");
    Objects.requireNonNull(op, "op");
    return make(
        CollectiveKind.ALL_REDUCE, parts -> new ValueCalls(parts).allReduce(value, codec, op));
  }

  @Override
  public final <T> Mono<T> broadcast(int root, @Nullable T value, Codec<T> codec) {
    maker.withCodec(codec);
    if (maker.isRoot(root)) {
      Objects.requireNonNull(value, "value");
    }
    return make(
        CollectiveKind.BROADCAST, parts -> new ValueCalls(parts).broadcast(root, value, codec));
  }

  @Override
  public final <T> Mono<List<T>> allGather(T value, Codec<T> codec) {
    maker.withCodec(codec);
    Objects.requireNonNull(value, "value");
    return make(CollectiveKind.ALL_GATHER, parts -> new ValueCalls(parts).allGather(value, codec));
  }

  @Override
  public final Mono<Void> reduceScatter(Vec in, Vec out, ReduceOp op) {
    return reduced(
        maker.reduceScatter(in, out, op), in, op, c -> c.reduceScatter(in, out, null), null);
  }

  @Override
  public final Mono<Void> reduceScatter(Vec in, Vec out, long[] counts, ReduceOp op) {
    CallData call = maker.reduceScatter(in, out, counts, op);
    long[] list = counts.clone();
    return reduced(call, in, op, c -> c.reduceScatter(in, out, list), null);
  }

  @Override
  public final Mono<Void> allGather(Vec in, Vec out) {
    return make(maker.allGather(in, out));
  }

  /** With its result. */
  final <T> Mono<T> allGather(Vec in, Vec out, Supplier<? extends T> result) {
    return make(maker.allGather(in, out), result);
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
    return reduced(maker.scan(in, out, op), in, op, c -> c.scan(in, out), null);
  }

  @Override
  public final Mono<Void> exclusiveScan(Vec in, Vec out, ReduceOp op) {
    return reduced(maker.exclusiveScan(in, out, op), in, op, c -> c.exclusiveScan(in, out), null);
  }

  @Override
  public final Mono<Void> neighbours(int[] to, Vec in, int[] from, Vec out) {
    return make(maker.neighbours(to, in, from, out));
  }
}
