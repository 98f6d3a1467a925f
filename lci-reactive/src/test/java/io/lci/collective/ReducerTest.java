/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/**
 * Calls that combine by code of the program. The operator here does not commute: an element is a
 * pair (a, b) for the function {@code x -> a x + b}, and two of them are applied one after the
 * other.
 */
@ExtendWith(LciLeakCheck.class)
class ReducerTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int LENGTH = 3; // pairs in a block

  private static final ReduceOp THEN =
      ReduceOp.of(
          (type, left, right) -> {
            for (int at = 0; at < left.limit(); at += 16) {
              long a = left.getLong(at);
              long b = left.getLong(at + 8);
              left.putLong(at, right.getLong(at) * a);
              left.putLong(at + 8, right.getLong(at) * b + right.getLong(at + 8));
            }
          },
          false);

  /** Pairs of a member. */
  private static long[] block(int member, int pairs) {
    return IntStream.range(0, 2 * pairs).mapToLong(i -> (member + 2L) * (i + 3)).toArray();
  }

  /** Those of some members, one after the other. */
  private static long[] then(int from, int to, int pairs) {
    long[] result = block(from, pairs);
    for (int member = from + 1; member < to; member++) {
      long[] next = block(member, pairs);
      for (int i = 0; i < result.length; i += 2) {
        result[i + 1] = next[i] * result[i + 1] + next[i + 1];
        result[i] = next[i] * result[i];
      }
    }
    return result;
  }

  private static Vec pairs(Vec longs) {
    return longs.as(DataType.I64_I64);
  }

  private static List<World> worlds(LciTestJob job) {
    return job.ranks().stream().map(LciRuntime::world).toList();
  }

  private static <T> Mono<T> begun(Mono<T> call) {
    Mono<T> cached = call.cache();
    cached.subscribe(value -> {}, error -> {});
    return cached;
  }

  private static LciOptions chaos(boolean chaos) {
    return LciOptions.builder()
        .attribute("chaos", chaos ? "seed=7,delay=0.3,ticks=64" : "")
        .build();
  }

  // Proves: J21
  // On: inproc, chaos
  @ParameterizedTest
  @EnumSource
  void eachCallCombinesInTheOrderOfMembers(Where where) {
    for (int n = 1; n <= 5; n++) {
      for (int pairs : new int[] {LENGTH, 0, 2_000}) {
        try (LciTestJob job = LciTestJob.start(n, chaos(n == 3))) {
          List<Vec> outs = new ArrayList<>();
          List<Mono<Void>> calls = new ArrayList<>();
          for (LciRuntime lci : job.ranks()) {
            calls.add(all(lci, where, pairs, outs));
          }
          Mono.when(calls).block(LIMIT);
          check(outs, n, pairs);
        }
      }
    }
  }

  /** All kinds, with their results in the order in which they are checked. */
  private static Mono<Void> all(LciRuntime lci, Where where, int pairs, List<Vec> outs) {
    World world = lci.world();
    int n = world.size();
    int own = world.rank();
    Vec in = where.of(lci, block(own, pairs));
    Vec many = where.of(lci, block(own, pairs * n));
    Vec all = where.room(lci, 2 * pairs);
    Vec inPlace = where.of(lci, block(own, pairs));
    Vec atRoot = where.room(lci, 2 * pairs);
    Vec part = where.room(lci, 2 * pairs);
    Vec scan = where.room(lci, 2 * pairs);
    Vec before = where.room(lci, 2 * pairs);
    outs.addAll(List.of(all, inPlace, atRoot, part, scan, before));
    return Mono.when(
        world.allReduce(pairs(in), pairs(all), THEN),
        world.allReduce(pairs(inPlace), pairs(inPlace), THEN),
        world.reduce(n - 1, pairs(in), pairs(atRoot), THEN),
        world.reduceScatter(pairs(many), pairs(part), THEN),
        world.scan(pairs(in), pairs(scan), THEN),
        world.exclusiveScan(pairs(in), pairs(before), THEN),
        world.barrier());
  }

  private static void check(List<Vec> outs, int n, int pairs) {
    long[] untouched = new long[2 * pairs];
    Arrays.fill(untouched, Where.UNTOUCHED);
    long[] everything = then(0, n, pairs);
    long[] blocks = then(0, n, pairs * n);
    for (int m = 0; m < n; m++) {
      List<Vec> of = outs.subList(6 * m, 6 * m + 6);
      String who = "member " + m + " of " + n;
      long[] part = Arrays.copyOfRange(blocks, 2 * pairs * m, 2 * pairs * (m + 1));
      assertThat(Where.read(of.get(0))).as(who).isEqualTo(everything);
      assertThat(Where.read(of.get(1))).as(who).isEqualTo(everything);
      assertThat(Where.read(of.get(2))).as(who).isEqualTo(m == n - 1 ? everything : untouched);
      assertThat(Where.read(of.get(3))).as(who).isEqualTo(part);
      assertThat(Where.read(of.get(4))).as(who).isEqualTo(then(0, m + 1, pairs));
      assertThat(Where.read(of.get(5))).as(who).isEqualTo(m == 0 ? untouched : then(0, m, pairs));
    }
  }

  /** One asks for the next call at once, the other when the first has ended. */
  @Test
  void callsBehindAScanHaveTheSameNumbers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      World second = job.rank(1).world();
      List<Mono<?>> atOnce = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        atOnce.add(begun(scanOf(first)));
        atOnce.add(begun(first.barrier()));
      }
      Flux.range(0, 10)
          .concatMap(i -> scanOf(second).then(second.barrier()))
          .then(Mono.when(atOnce))
          .block(LIMIT);
    }
  }

  private static Mono<Void> scanOf(World world) {
    Vec in = pairs(Vec.longs(block(world.rank(), LENGTH)));
    return world.scan(in, pairs(Vec.longs(new long[2 * LENGTH])), THEN);
  }

  @Test
  void blocksMayDifferInLength() {
    long[] counts = {2, 0, 1};
    try (LciTestJob job = LciTestJob.start(3)) {
      List<long[]> outs = new ArrayList<>();
      List<Mono<Void>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        long[] out = new long[(int) counts[world.rank()] * 2];
        outs.add(out);
        Vec in = pairs(Vec.longs(block(world.rank(), 3)));
        long[] given = counts.clone();
        calls.add(world.reduceScatter(in, pairs(Vec.longs(out)), given, THEN));
        Arrays.fill(given, 9);
      }
      Mono.when(calls).block(LIMIT);
      long[] all = then(0, 3, 3);
      assertThat(outs.get(0)).isEqualTo(Arrays.copyOfRange(all, 0, 4));
      assertThat(outs.get(1)).isEmpty();
      assertThat(outs.get(2)).isEqualTo(Arrays.copyOfRange(all, 4, 6));
    }
  }

  /** The code sees what it is told, on the loop of member 0. */
  @Test
  void theCodeIsCalledOnTheLoopWithTheTypeOfTheElements() {
    List<String> seen = new CopyOnWriteArrayList<>();
    Reducer lowest =
        (type, left, right) -> {
          seen.add(type + " " + left.order() + right.order() + right.isReadOnly());
          seen.add(Thread.currentThread().getName());
          left.putShort(0, (short) Math.min(left.getShort(), right.getShort()));
        };
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Void>> calls = new ArrayList<>();
      ByteBuffer out = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
      for (World world : worlds(job)) {
        ByteBuffer in = ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN);
        in.putShort(0, (short) (-7 + 5 * world.rank() * world.rank() - 9 * world.rank()));
        Vec to = Vec.of(DataType.I16, world.rank() == 0 ? out : ByteBuffer.allocate(2), 0, 1);
        calls.add(world.allReduce(Vec.of(DataType.I16, in, 0, 1), to, ReduceOp.of(lowest, true)));
      }
      Mono.when(calls).block(LIMIT);
      assertThat(out.getShort(0)).isEqualTo((short) -11);
      assertThat(seen).containsOnly("I16 LITTLE_ENDIANLITTLE_ENDIANtrue", "lci-loop-0").hasSize(4);
    }
  }

  @Test
  void numbersAreCombinedByCode() {
    ReduceOp product =
        ReduceOp.of(
            (type, left, right) -> {
              for (int at = 0; at < left.limit(); at += 8) {
                if (type == DataType.F64) {
                  left.putDouble(at, left.getDouble(at) * right.getDouble(at));
                } else {
                  left.putLong(at, left.getLong(at) * right.getLong(at));
                }
              }
            },
            true);
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<List<Object>>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        long value = world.rank() + 2;
        calls.add(
            Flux.concat(
                    world.allReduce(value, product).cast(Object.class),
                    world.allReduce(value + 0.5, product),
                    world.allReduce(new long[] {value, -1}, product))
                .collectList());
      }
      for (List<Object> results : Flux.mergeSequential(calls).collectList().block(LIMIT)) {
        assertThat(results.get(0)).isEqualTo(24L);
        assertThat(results.get(1)).isEqualTo(2.5 * 3.5 * 4.5);
        assertThat((long[]) results.get(2)).containsExactly(24, -1);
      }
    }
  }

  // Errors

  private static ReduceOp throwing() {
    return ReduceOp.of(
        (type, left, right) -> {
          throw new IllegalStateException("no sum");
        },
        true);
  }

  private static void expectFailed(Mono<?> call, int rank, boolean own) {
    StepVerifier.create(call)
        .expectErrorSatisfies(
            e -> {
              assertThat(e).isInstanceOf(CollectiveFailedException.class);
              assertThat(((CollectiveFailedException) e).rank()).isEqualTo(rank);
              if (own) {
                assertThat(e).hasRootCauseMessage("no sum");
              }
            })
        .verify(LIMIT);
  }

  /** All get what it says, and their results are left as they were. */
  // Proves: J21
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void codeThatThrowsEndsTheCallOnAll(int kind) {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Void>> calls = new ArrayList<>();
      List<long[]> outs = new ArrayList<>();
      for (World world : worlds(job)) {
        Vec in = Vec.longs(new long[] {1, 2, 3});
        long[] out = {9, 9, 9};
        outs.add(out);
        Vec to = Vec.longs(out);
        calls.add(
            begun(
                switch (kind) {
                  case 0 -> world.allReduce(in, to, throwing());
                  case 1 -> world.reduceScatter(in, Vec.longs(out, 0, 1), throwing());
                  case 2 -> world.scan(in, to, throwing());
                  default -> world.exclusiveScan(in, to, throwing());
                }));
      }
      for (int rank = 0; rank < 3; rank++) {
        expectFailed(calls.get(rank), 0, rank == 0);
        expectFailed(worlds(job).get(rank).barrier(), 0, false);
        assertThat(outs.get(rank)).containsExactly(9, 9, 9);
      }
    }
  }

  /** The others have done their part: their next call fails. */
  @Test
  void codeThatThrowsAtTheRootGivesTheContextUp() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Void>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        Vec both = Vec.longs(new long[] {1});
        calls.add(begun(world.reduce(1, both, both, throwing())));
      }
      expectFailed(calls.get(1), 1, true);
      for (World world : worlds(job)) {
        expectFailed(world.barrier(), 1, false);
      }
    }
  }

  /** Another call behind it tells when its end has come. */
  @Test
  void afterACancelNothingIsWritten() {
    try (LciTestJob job = LciTestJob.start(2)) {
      long[] out = {9};
      World first = job.rank(0).world();
      World second = job.rank(1).world();
      Vec in = Vec.longs(new long[] {1});
      first.allReduce(in, Vec.longs(out), add()).subscribe().dispose();
      Mono<Void> behind = begun(first.barrier());
      second.allReduce(in, Vec.longs(new long[1]), add()).then(second.barrier()).block(LIMIT);
      behind.block(LIMIT);
      assertThat(out).containsExactly(9);
    }
  }

  private static ReduceOp add() {
    return ReduceOp.of(
        (type, left, right) -> left.putLong(0, left.getLong(0) + right.getLong(0)), true);
  }

  // Arguments

  @Test
  void anOperatorSaysWhatItIs() {
    assertThat(THEN.isCommutative()).isFalse();
    assertThat(ReduceOp.of((type, left, right) -> {}, true).isCommutative()).isTrue();
    assertThat(THEN.reducer()).isNotNull();
    assertThat(THEN.serves(DataType.F32_I32)).isTrue();
    assertThat(ReduceOp.SUM.reducer()).isNull();
    assertThat(ReduceOp.SUM.isCommutative()).isTrue();
    assertThat(ReduceOp.all()).doesNotContain(THEN);
    assertThatNullPointerException().isThrownBy(() -> ReduceOp.of(null, true));
  }

  @Test
  void aCallByCodeHasNoAlgorithm() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Collectives ring = job.rank(0).world().with(Algorithm.RING);
      Vec both = Vec.longs(new long[1]);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ring.allReduce(both, both, THEN))
          .withMessageContaining("RING is no algorithm of a call by a Reducer");
      assertThatIllegalArgumentException().isThrownBy(() -> ring.allReduce(1L, THEN));
      assertThatIllegalArgumentException().isThrownBy(() -> ring.allReduce(1.0, THEN));
    }
  }
}
