/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.collective.Algorithm;
import io.lci.collective.CollectiveContext;
import io.lci.collective.CollectivePlan;
import io.lci.collective.Collectives;
import io.lci.collective.DataType;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.lane.BufferPool;
import io.lci.internal.lane.CallNames;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.LciBuffer;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/**
 * What the core is told of a call, and how its memory is held, over a core whose answers the test
 * decides. This is member 0 of 4.
 */
class CollectiveCallTest {
  /** A call as it was submitted, with the data at its addresses. */
  private record Said(
      int kind,
      int root,
      int op,
      int type,
      int algorithm,
      long in,
      long out,
      long count,
      long counts) {}

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl lci =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final Collectives world = lci.world();
  private final List<Said> said = new ArrayList<>();
  private final List<Integer> answers = new ArrayList<>();
  private final List<Long> contexts = new ArrayList<>();

  /** What the core read at each post. */
  private final List<long[]> read = new ArrayList<>();

  private int allocations;
  private boolean hears;

  CollectiveCallTest() {
    core.script =
        submitted -> {
          ByteBuffer words = core.descriptor;
          int size = submitted.size();
          said.add(
              new Said(
                  submitted.port(),
                  submitted.rank(),
                  words.get(Layout.DESCRIPTOR_POLICY),
                  size & 0xFF,
                  size >> 8,
                  words.getLong(Layout.DESCRIPTOR_COLLECTIVE_IN),
                  words.getLong(Layout.DESCRIPTOR_COLLECTIVE_OUT),
                  words.getLong(Layout.DESCRIPTOR_COLLECTIVE_COUNT),
                  words.getLong(Layout.DESCRIPTOR_COLLECTIVE_COUNTS)));
          Said last = last();
          if (last.in != 0 && last.count > 0) {
            read.add(longsAt(last.in, (int) last.count));
          }
          contexts.add(submitted.context());
          return answers.isEmpty() ? Codes.POSTED : answers.remove(0);
        };
    BufferPool pool = lci.loops.outboxes.get(0).pool;
    pool.allocation =
        bytes -> {
          allocations++;
          return ByteBuffer.allocateDirect(bytes);
        };
  }

  @AfterEach
  void close() {
    lci.close();
  }

  private Said last() {
    return said.get(said.size() - 1);
  }

  private void turns(int count) {
    for (int i = 0; i < count; i++) {
      lci.loops.all.get(0).poll();
    }
  }

  /** From its first context on a rank hears of groups that are revoked, by a receive. */
  private void hear() {
    if (!hears) {
      hears = true;
      List<Integer> kept = List.copyOf(answers);
      answers.clear();
      lci.world().context(1);
      turns(2);
      answers.addAll(kept);
      contexts.clear();
      said.clear();
      allocations = 0;
    }
  }

  private <T> TestSubscriber<T> begin(Mono<T> call) {
    hear();
    TestSubscriber<T> subscriber = TestSubscriber.create();
    call.subscribe(subscriber);
    turns(2);
    return subscriber;
  }

  /** The core ends the call that was posted last. */
  private void end(int code, int rank) {
    core.ended(contexts.get(contexts.size() - 1), code, rank);
    turns(3);
  }

  private static ByteBuffer at(long address, int longs) {
    return NativeMemory.wrap(address, (long) longs * Long.BYTES)
        .slice(0, longs * Long.BYTES)
        .order(ByteOrder.LITTLE_ENDIAN);
  }

  private static long[] longsAt(long address, int count) {
    long[] values = new long[count];
    at(address, count).asLongBuffer().get(values);
    return values;
  }

  private void coreWrites(long... values) {
    at(last().out, values.length).asLongBuffer().put(values);
  }

  @Test
  void typesOperatorsAndAlgorithmsHaveTheNumbersOfTheCore() throws ReflectiveOperationException {
    LciBuffer buffer = lci.memory().buffer(64);
    for (DataType type : DataType.values()) {
      begin(world.broadcast(0, Vec.of(type, buffer, 0, 1)));
      assertThat(last().type).as(type.name()).isEqualTo(code("TYPE_" + type));
      for (ReduceOp op : ReduceOp.all()) {
        if (op.serves(type)) {
          Vec both = Vec.of(type, buffer, 0, 1);
          begin(world.allReduce(both, both, op));
          String name = op == ReduceOp.AND || op == ReduceOp.OR || op == ReduceOp.XOR ? "B" : "";
          assertThat(last().op).as("" + op).isEqualTo(code("REDUCE_" + name + op));
          assertThat(last().type).as(type.name()).isEqualTo(code("TYPE_" + type));
        }
      }
    }
    for (Algorithm algorithm : Algorithm.values()) {
      assertThat(algorithm.ordinal()).isEqualTo(code("ALGORITHM_" + algorithm));
    }
    for (CollectiveKind kind : CollectiveKind.values()) {
      assertThat(kind.ordinal() + 1).isEqualTo(code("COLLECTIVE_" + number(kind)));
    }
  }

  /** They never come again, and nothing is to be kept of them. */
  @Test
  void contextsOfStreamsAreForgotten() {
    CollectiveContext context = lci.world().context(9);
    for (int stream = 1; stream <= 3; stream++) {
      ((StreamMembers) context).calls(stream).dispose();
      turns(2);
      assertThat(core.forgotten).hasSize(stream).doesNotHaveDuplicates();
    }
    context.dispose();
    turns(2);
    assertThat(core.forgotten).hasSize(3);
    assertThat(lci.world().context(9)).isNotSameAs(context);
  }

  /** The end of an earlier call does not end what was asked for meanwhile, and has not begun. */
  @Test
  void whatWasAskedForBeforeTheDisposalIsMade() {
    CollectiveContext context = lci.world().context(9);
    TestSubscriber<Void> first = begin(context.barrier());
    long posted = contexts.get(contexts.size() - 1);
    Vec memory = Vec.longs(new long[1]);
    CollectivePlan plan = world.plan().broadcast(0, List.of(memory)).build();
    TestSubscriber<Void> second = TestSubscriber.create();
    plan.idle() // ends between the tasks of a turn and what the core brings in it
        .doOnSuccess(
            none ->
                elsewhere(
                    () -> {
                      context.barrier().subscribe(second);
                      context.dispose();
                    }))
        .subscribe();
    core.ended(posted, Codes.DONE, 0);
    turns(3);
    assertThat(first.isTerminatedComplete()).isTrue();
    assertThat(second.isTerminated()).isFalse();
    end(Codes.DONE, 0);
    assertThat(second.isTerminatedComplete()).isTrue();
    assertThat(lci.world().context(9)).isNotSameAs(context);
  }

  private static void elsewhere(Runnable what) {
    Thread other = new Thread(what);
    other.start();
    try {
      other.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void callsHaveNamesForThoseWhoRead() {
    assertThat(CallNames.call(Codes.COLLECTIVE_BARRIER, 0, 0, 0, 0, 0)).isEqualTo("barrier");
    assertThat(
            CallNames.call(
                Codes.COLLECTIVE_REDUCE,
                2,
                Codes.REDUCE_MAX,
                Codes.TYPE_F64_I64,
                Codes.ALGORITHM_BINOMIAL,
                7))
        .isEqualTo("reduce of 7 F64_I64 by MAX with root 2 (BINOMIAL)");
    assertThat(CallNames.call(99, 0, 98, 97, 96, 1))
        .isEqualTo("no. 99 of 1 no. 97 by no. 98 (no. 96)");
  }

  private static String number(CollectiveKind kind) {
    Map<CollectiveKind, String> joined =
        Map.of(
            CollectiveKind.ALL_REDUCE, "ALLREDUCE",
            CollectiveKind.ALL_GATHER, "ALLGATHER",
            CollectiveKind.ALL_TO_ALL, "ALLTOALL");
    return joined.getOrDefault(kind, kind.name());
  }

  private static int code(String name) throws ReflectiveOperationException {
    return Codes.class.getField(name).getInt(null);
  }

  /** Root, operator, counts and memory are where they belong. */
  @Test
  void theCoreIsToldEachCall() {
    LciBuffer in = lci.memory().buffer(256);
    LciBuffer out = lci.memory().buffer(256);
    long from = NativeMemory.address(in.view());
    long to = NativeMemory.address(out.view());
    Vec v = Vec.longs(in, 0, 4);
    Vec w = Vec.longs(out, 0, 4);
    int sum = Codes.REDUCE_SUM;
    assertSaid(world.barrier(), new Said(1, 0, 0, 0, 0, 0, 0, 0, 0));
    assertSaid(world.broadcast(3, w), new Said(2, 3, 0, 7, 0, 0, to, 4, 0));
    assertSaid(world.broadcast(0, v), new Said(2, 0, 0, 7, 0, 0, from, 4, 0));
    assertSaid(world.reduce(1, v, w, ReduceOp.SUM), new Said(3, 1, sum, 7, 0, from, 0, 4, 0));
    assertSaid(world.reduce(0, v, w, ReduceOp.SUM), new Said(3, 0, sum, 7, 0, from, to, 4, 0));
    assertSaid(
        world.with(Algorithm.RING).allReduce(v, w, ReduceOp.SUM),
        new Said(4, 0, sum, 7, Codes.ALGORITHM_RING, from, to, 4, 0));
    assertSaid(
        world.reduceScatter(v, Vec.longs(out, 1, 1), ReduceOp.SUM),
        new Said(5, 0, sum, 7, 0, from, to + 8, 1, 0));
    assertSaid(
        world.allGather(Vec.longs(in, 2, 1), w), new Said(6, 0, 0, 7, 0, from + 16, to, 1, 0));
    assertSaid(
        world.gather(2, Vec.longs(in, 2, 1), w), new Said(7, 2, 0, 7, 0, from + 16, 0, 1, 0));
    assertSaid(
        world.gather(2, Vec.longs(in, 2, 3), w, new long[] {1}),
        new Said(7, 2, 0, 7, 0, from + 16, 0, 3, 0));
    assertSaid(world.scatter(0, v, Vec.longs(out, 0, 1)), new Said(8, 0, 0, 7, 0, from, to, 1, 0));
    assertSaid(world.scatter(1, v, Vec.longs(out, 0, 1)), new Said(8, 1, 0, 7, 0, 0, to, 1, 0));
    assertSaid(world.allToAll(v, w), new Said(9, 0, 0, 7, 0, from, to, 1, 0));
    assertSaid(world.scan(v, w, ReduceOp.SUM), new Said(10, 0, sum, 7, 0, from, to, 4, 0));
    assertSaid(world.exclusiveScan(v, w, ReduceOp.SUM), new Said(11, 0, sum, 7, 0, from, to, 4, 0));
  }

  private void assertSaid(Mono<Void> call, Said expected) {
    begin(call);
    assertThat(last()).isEqualTo(expected);
    end(Codes.DONE, 0);
  }

  @Test
  void countsLieBesideTheCall() {
    Vec in = Vec.longs(lci.memory().buffer(64), 0, 4);
    Vec out = Vec.longs(lci.memory().buffer(64), 0, 7);
    assertCounts(world.allGather(Vec.longs(new long[2]), out, counts(2, 0, 4, 1)), 2, 0, 4, 1);
    assertCounts(world.gather(0, Vec.longs(new long[2]), out, counts(2, 0, 4, 1)), 2, 0, 4, 1);
    assertCounts(world.scatter(0, in, Vec.longs(new long[1]), counts(1, 1, 2, 0)), 1, 1, 2, 0);
    assertCounts(
        world.reduceScatter(in, Vec.longs(new long[1]), counts(1, 1, 2, 0), ReduceOp.SUM),
        1,
        1,
        2,
        0);
    assertCounts(
        world.allToAll(in, counts(1, 0, 3, 0), out, counts(1, 2, 3, 1)), 1, 0, 3, 0, 1, 2, 3, 1);
    assertCounts(
        world.neighbours(new int[] {3, 1}, in, new int[] {2}, Vec.longs(new long[2])),
        2,
        3,
        1,
        1,
        2);
    assertThat(last().count).isEqualTo(2);
  }

  private static long[] counts(long... counts) {
    return counts;
  }

  private void assertCounts(Mono<Void> call, long... expected) {
    begin(call);
    assertThat(longsAt(last().counts, expected.length)).isEqualTo(expected);
    end(Codes.DONE, 0);
  }

  @Test
  void anArrayIsCopiedAtThePostAndWrittenAtTheEnd() {
    long[] in = {1, 2, 3};
    long[] out = new long[3];
    TestSubscriber<Void> call = begin(world.allReduce(Vec.longs(in), Vec.longs(out), ReduceOp.SUM));
    assertThat(read).containsExactly(in);
    coreWrites(4, 5, 6);
    turns(2);
    assertThat(out).containsExactly(0, 0, 0);
    assertThat(call.isTerminated()).isFalse();
    end(Codes.DONE, 0);
    assertThat(out).containsExactly(4, 5, 6);
    assertThat(call.isTerminatedComplete()).isTrue();
  }

  @Test
  void inPlaceItLiesOnceBesideTheCall() {
    long[] both = {1, 2, 3};
    begin(world.allReduce(Vec.longs(both), Vec.longs(both), ReduceOp.SUM));
    assertThat(last().in).isEqualTo(last().out);
    coreWrites(4, 5, 6);
    end(Codes.DONE, 0);
    assertThat(both).containsExactly(4, 5, 6);
  }

  /** A root's elements are read where others have theirs written. */
  @Test
  void whatARootBroadcastsIsCopiedAndNotWritten() {
    long[] data = {1, 2, 3};
    begin(world.broadcast(0, Vec.longs(data)));
    assertThat(longsAt(last().out, 3)).containsExactly(1, 2, 3);
    coreWrites(4, 5, 6);
    end(Codes.DONE, 0);
    assertThat(data).containsExactly(1, 2, 3);
  }

  @Test
  void eachKindOfMemoryIsCopied() {
    begin(world.broadcast(0, Vec.bytes(new byte[] {9, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 8)));
    assertThat(longsAt(last().out, 1)).containsExactly(0x0807_0605_0403_0201L);
    begin(world.broadcast(0, Vec.ints(new int[] {9, 1, 2}, 1, 2)));
    assertThat(longsAt(last().out, 1)).containsExactly(0x2_0000_0001L);
    begin(world.broadcast(0, Vec.floats(new float[] {9, 0, 1}, 1, 2)));
    assertThat(longsAt(last().out, 1)).containsExactly((long) Float.floatToIntBits(1) << 32);
    begin(world.broadcast(0, Vec.doubles(new double[] {9, 1}, 1, 1)));
    assertThat(longsAt(last().out, 1)).containsExactly(Double.doubleToLongBits(1));
    ByteBuffer heap = ByteBuffer.allocate(12).putInt(0, 1).putInt(4, 2).putInt(8, 3); // big-endian
    begin(world.broadcast(0, Vec.ints(heap.position(4))));
    assertThat(longsAt(last().out, 1)).containsExactly(0x0300_0000_0200_0000L);
  }

  @Test
  void eachKindOfMemoryIsWritten() {
    byte[] bytes = new byte[10];
    int[] ints = new int[3];
    float[] floats = new float[3];
    double[] doubles = new double[2];
    ByteBuffer heap = ByteBuffer.allocate(12);
    for (Vec vec :
        List.of(
            Vec.bytes(bytes, 1, 8),
            Vec.ints(ints, 1, 2),
            Vec.floats(floats, 1, 2),
            Vec.doubles(doubles, 1, 1),
            Vec.ints(heap.position(4)))) {
      begin(world.broadcast(1, vec));
      coreWrites(0x0807_0605_0403_0201L);
      end(Codes.DONE, 0);
    }
    assertThat(bytes).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 0);
    assertThat(ints).containsExactly(0, 0x0403_0201, 0x0807_0605);
    assertThat(floats)
        .containsExactly(0, Float.intBitsToFloat(0x0403_0201), Float.intBitsToFloat(0x0807_0605));
    assertThat(doubles).containsExactly(0, Double.longBitsToDouble(0x0807_0605_0403_0201L));
    assertThat(heap.array()).containsExactly(0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8);
  }

  @Test
  void aRefusedCallHoldsNothingAndIsCopiedAgain() {
    answers.addAll(List.of(Codes.RETRY_PENDING, Codes.RETRY_PENDING));
    long[] in = {1, 2, 3};
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(in), Vec.longs(new long[3]), ReduceOp.SUM));
    for (int i = 0; i < 2; i++) {
      core.generation++;
      core.ring();
      turns(3);
    }
    assertThat(read).hasSize(3).allSatisfy(values -> assertThat(values).containsExactly(1, 2, 3));
    assertThat(allocations).isEqualTo(1);
    end(Codes.DONE, 0);
    assertThat(call.isTerminatedComplete()).isTrue();
  }

  /** The member takes part, and its memory comes back when the core needs it no more. */
  @Test
  void afterACancelNothingIsWritten() {
    long[] out = new long[3];
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(out), ReduceOp.SUM));
    call.cancel();
    turns(2);
    coreWrites(4, 5, 6);
    begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(new long[3]), ReduceOp.SUM));
    assertThat(allocations).as("the first one is in use").isEqualTo(2);
    core.ended(contexts.get(0), Codes.DONE, 0);
    end(Codes.DONE, 0);
    assertThat(out).containsExactly(0, 0, 0);
    for (int i = 0; i < 2; i++) {
      begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(new long[3]), ReduceOp.SUM));
    }
    assertThat(allocations).isEqualTo(2);
  }

  @Test
  void aCancelledCallThatWaitsIsMadeAllTheSame() {
    answers.add(Codes.RETRY_PENDING);
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(new long[3]), ReduceOp.SUM));
    call.cancel();
    core.generation++;
    core.ring();
    turns(3);
    assertThat(said).hasSize(2);
  }

  @Test
  void afterAnErrorNothingIsWritten() {
    long[] out = new long[3];
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(out), ReduceOp.SUM));
    coreWrites(4, 5, 6);
    end(Codes.ERR_PEER_FAILED, 2);
    assertThat(call.expectTerminalError())
        .isInstanceOf(PeerFailedException.class)
        .hasMessageContaining("allReduce of a group rank 2");
    assertThat(out).containsExactly(0, 0, 0);
    begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(out), ReduceOp.SUM));
    assertThat(allocations).isEqualTo(1);
  }

  @Test
  void aCloseWritesNothing() {
    long[] out = new long[3];
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(out), ReduceOp.SUM));
    coreWrites(4, 5, 6);
    lci.close();
    assertThat(call.expectTerminalError()).isInstanceOf(LciClosedException.class);
    assertThat(out).containsExactly(0, 0, 0);
  }

  /** The others would wait for it: they are told. */
  @Test
  void withoutMemoryTheContextIsGivenUp() {
    lci.loops.outboxes.get(0).pool.allocation =
        bytes -> {
          throw new OutOfMemoryError("on purpose");
        };
    TestSubscriber<Void> call =
        begin(world.allReduce(Vec.longs(new long[3]), Vec.longs(new long[3]), ReduceOp.SUM));
    assertThat(call.expectTerminalError())
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("MaxDirectMemorySize");
    assertThat(core.revocations).containsExactly(Codes.ERR_NO_MEMORY);
    assertThat(said).isEmpty();
  }

  @Test
  void anAlgorithmThatDoesNotServeIsAWrongArgument() {
    answers.add(Codes.ERR_ARGUMENT);
    Collectives halving = world.with(Algorithm.RECURSIVE_HALVING);
    TestSubscriber<Void> call =
        begin(halving.reduceScatter(Vec.longs(new long[4]), Vec.longs(new long[1]), ReduceOp.SUM));
    assertThat(call.expectTerminalError())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("RECURSIVE_HALVING does not serve this reduceScatter of " + world);
    assertThat(core.revocations).isEmpty();
  }

  @Test
  void theShortFormsBringTheResult() {
    TestSubscriber<Long> one = begin(world.allReduce(5L, ReduceOp.MAX));
    assertThat(read).containsExactly(new long[] {5});
    coreWrites(7);
    end(Codes.DONE, 0);
    assertThat(one.getReceivedOnNext()).containsExactly(7L);
    TestSubscriber<Double> real = begin(world.allReduce(1.5, ReduceOp.MAX));
    coreWrites(Double.doubleToLongBits(2.5));
    end(Codes.DONE, 0);
    assertThat(real.getReceivedOnNext()).containsExactly(2.5);
    long[] given = {1, 2};
    TestSubscriber<long[]> many = begin(world.allReduce(given, ReduceOp.MAX));
    coreWrites(3, 4);
    end(Codes.DONE, 0);
    assertThat(many.getReceivedOnNext()).containsExactly(new long[] {3, 4});
    assertThat(given).containsExactly(1, 2);
  }

  /** Also if nobody else knows it any more. */
  @Test
  void aBufferLivesAsLongAsItsCall() {
    WeakReference<@Nullable LciBuffer> buffer = beginWithBuffer();
    for (int i = 0; i < 3; i++) {
      System.gc();
      byte[][] pressure = new byte[64][1 << 16];
      Arrays.fill(pressure, null);
    }
    assertThat(buffer.get()).isNotNull();
    end(Codes.DONE, 0);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              System.gc();
              return buffer.get() == null;
            });
  }

  /** No end of it comes any more: the core may use it until it is closed. */
  @Test
  void aBufferOfACallThatACloseGaveUpLivesAsLongAsTheRuntime() {
    WeakReference<@Nullable LciBuffer> buffer = beginWithBuffer();
    lci.close();
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    assertThat(buffer.get()).isNotNull();
    Reference.reachabilityFence(lci);
  }

  private WeakReference<@Nullable LciBuffer> beginWithBuffer() {
    LciBuffer buffer = lci.memory().buffer(64);
    begin(world.allReduce(Vec.longs(buffer), Vec.longs(buffer), ReduceOp.SUM)).cancel();
    turns(2);
    return new WeakReference<>(buffer);
  }
}
