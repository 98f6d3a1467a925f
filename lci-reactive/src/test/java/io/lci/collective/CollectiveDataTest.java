/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** What each call of a group brings, in groups and memory of all kinds. */
@ExtendWith(LciLeakCheck.class)
class CollectiveDataTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Of a block: none, one message, and more than a packet. */
  private static final int[] LENGTHS = {0, 1, 7, 5_000};

  private static Stream<Arguments> jobs() {
    return Stream.of(1, 2, 3, 5)
        .flatMap(n -> Stream.of(Where.values()).map(where -> Arguments.of(n, where)));
  }

  /** What a member makes of a call, and what it must have then. */
  private record Part(Mono<Void> call, Vec out, long[] expected) {}

  /** All members make a call, for each length of a block. */
  private static void check(int members, BiFunction<LciRuntime, Integer, Part> part) {
    try (LciTestJob job = LciTestJob.start(members)) {
      for (int length : LENGTHS) {
        check(job, lci -> part.apply(lci, length));
      }
    }
  }

  private static void check(LciTestJob job, Function<LciRuntime, Part> part) {
    List<Part> parts = job.ranks().stream().map(part).toList();
    Mono.when(parts.stream().map(Part::call).toList()).block(LIMIT);
    for (int member = 0; member < parts.size(); member++) {
      assertThat(Where.read(parts.get(member).out))
          .as("member " + member + " of " + job.size())
          .isEqualTo(parts.get(member).expected);
    }
  }

  /** Element {@code i} of what a member brings. */
  private static long value(int member, int i) {
    return (member + 1) * 1_000_003L + i * 7L;
  }

  private static long[] values(int member, int count) {
    return longs(count, i -> value(member, i));
  }

  private static long[] longs(int count, IntToLongFunction element) {
    return IntStream.range(0, count).mapToLong(element).toArray();
  }

  private static long[] sum(int from, int to, int count) {
    return longs(count, i -> IntStream.range(from, to).mapToLong(m -> value(m, i)).sum());
  }

  private static long[] joined(int blocks, IntFunction<long[]> block) {
    return IntStream.range(0, blocks).mapToObj(block).flatMapToLong(Arrays::stream).toArray();
  }

  private static long[] untouched(int count) {
    return longs(count, i -> Where.UNTOUCHED);
  }

  /** Elements of the blocks that member {@code i} of {@code n} brings or gets: none for some. */
  private static long[] counts(int n, int length) {
    return longs(n, i -> i % 3 == 1 ? 0 : length + i);
  }

  private static int total(long[] counts) {
    return (int) LongStream.of(counts).sum();
  }

  private static long[] part(long[] all, long[] counts, int block) {
    int from = (int) LongStream.of(counts).limit(block).sum();
    return Arrays.copyOfRange(all, from, from + (int) counts[block]);
  }

  // Proves: J2
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void broadcastBringsTheRootsElements(int n, Where where) {
    for (int root = 0; root < n; root += 2) {
      int from = root;
      check(
          n,
          (lci, length) -> {
            boolean own = lci.rank() == from;
            Vec data = own ? where.of(lci, values(from, length)) : where.room(lci, length);
            return new Part(lci.world().broadcast(from, data), data, values(from, length));
          });
    }
  }

  // Proves: J3
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void reduceCombinesAtTheRoot(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int root = n - 1;
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().reduce(root, in, out, ReduceOp.SUM),
              out,
              lci.rank() == root ? sum(0, n, length) : untouched(length));
        });
  }

  // Proves: J3
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void reduceInPlaceLeavesTheOthers(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          return new Part(
              lci.world().reduce(0, in, lci.rank() == 0 ? in : null, ReduceOp.SUM),
              in,
              lci.rank() == 0 ? sum(0, n, length) : values(lci.rank(), length));
        });
  }

  // Proves: J5
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allReduceCombinesEverywhere(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, length);
          return new Part(lci.world().allReduce(in, out, ReduceOp.SUM), out, sum(0, n, length));
        });
  }

  // Proves: J5
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allReduceInPlaceDoesToo(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec both = where.of(lci, values(lci.rank(), length));
          return new Part(lci.world().allReduce(both, both, ReduceOp.SUM), both, sum(0, n, length));
        });
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void whatIsReadStaysAsItIs(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().allReduce(in, out, ReduceOp.SUM), in, values(lci.rank(), length));
        });
  }

  // Proves: J4
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void reduceScatterGivesABlockToEach(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int own = lci.rank();
          Vec in = where.of(lci, values(own, n * length));
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().reduceScatter(in, out, ReduceOp.SUM),
              out,
              Arrays.copyOfRange(sum(0, n, n * length), own * length, (own + 1) * length));
        });
  }

  // Proves: J4
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void reduceScatterGivesBlocksOfDifferentLengths(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          long[] counts = counts(n, length);
          Vec in = where.of(lci, values(lci.rank(), total(counts)));
          Vec out = where.room(lci, (int) counts[lci.rank()]);
          return new Part(
              lci.world().reduceScatter(in, out, counts, ReduceOp.SUM),
              out,
              part(sum(0, n, total(counts)), counts, lci.rank()));
        });
  }

  // Proves: J6
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allGatherJoinsTheBlocks(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, n * length);
          return new Part(lci.world().allGather(in, out), out, joined(n, m -> values(m, length)));
        });
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void allGatherTakesTheOwnBlockFromItsPlace(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          long[] before = untouched(n * length);
          System.arraycopy(values(lci.rank(), length), 0, before, lci.rank() * length, length);
          Vec out = where.of(lci, before);
          return new Part(
              lci.world().allGather(range(out, lci.rank() * length, length), out),
              out,
              joined(n, m -> values(m, length)));
        });
  }

  /** Some elements of the same memory. */
  private static Vec range(Vec of, int from, int count) {
    if (of.memory() instanceof long[] array) {
      return Vec.longs(array, from, count);
    }
    long first = of.offset() + (long) from * Long.BYTES;
    long bytes = (long) count * Long.BYTES;
    Vec range =
        of.memory() instanceof LciBuffer buffer
            ? Vec.bytes(buffer, first, bytes)
            : Vec.of(DataType.I8, (ByteBuffer) of.memory(), first, bytes);
    return range.as(DataType.I64);
  }

  // Proves: J6
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allGatherJoinsBlocksOfDifferentLengths(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          long[] counts = counts(n, length);
          Vec in = where.of(lci, values(lci.rank(), (int) counts[lci.rank()]));
          Vec out = where.room(lci, total(counts));
          return new Part(
              lci.world().allGather(in, out, counts),
              out,
              joined(n, m -> values(m, (int) counts[m])));
        });
  }

  // Proves: J9
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void gatherJoinsThemAtTheRoot(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int root = n / 2;
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, n * length);
          return new Part(
              lci.world().gather(root, in, lci.rank() == root ? out : null),
              out,
              lci.rank() == root ? joined(n, m -> values(m, length)) : untouched(n * length));
        });
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void gatherJoinsBlocksOfDifferentLengths(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          boolean root = lci.rank() == n / 2;
          long[] counts = counts(n, length);
          Vec in = where.of(lci, values(lci.rank(), (int) counts[lci.rank()]));
          Vec out = where.room(lci, total(counts));
          return new Part(
              lci.world().gather(n / 2, in, root ? out : null, root ? counts : null),
              out,
              root ? joined(n, m -> values(m, (int) counts[m])) : untouched(total(counts)));
        });
  }

  // Proves: J9
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void scatterGivesTheRootsBlocks(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int own = lci.rank();
          int root = n / 2;
          long[] all = values(root, n * length);
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().scatter(root, own == root ? where.of(lci, all) : null, out),
              out,
              Arrays.copyOfRange(all, own * length, (own + 1) * length));
        });
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void scatterGivesBlocksOfDifferentLengths(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          boolean root = lci.rank() == n / 2;
          long[] counts = counts(n, length);
          long[] all = values(n / 2, total(counts));
          Vec out = where.room(lci, (int) counts[lci.rank()]);
          return new Part(
              lci.world()
                  .scatter(n / 2, root ? where.of(lci, all) : null, out, root ? counts : null),
              out,
              part(all, counts, lci.rank()));
        });
  }

  // Proves: J7
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allToAllGivesEachABlockOfEach(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int own = lci.rank();
          Vec in = where.of(lci, values(own, n * length));
          Vec out = where.room(lci, n * length);
          return new Part(
              lci.world().allToAll(in, out),
              out,
              joined(
                  n,
                  m ->
                      Arrays.copyOfRange(values(m, n * length), own * length, (own + 1) * length)));
        });
  }

  /** What member {@code from} has for {@code to}. */
  private static int between(int from, int to, int length) {
    return (from + 2 * to) % 3 == 1 ? 0 : length + from;
  }

  // Proves: J7
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void allToAllGivesBlocksOfDifferentLengths(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int own = lci.rank();
          long[] sent = longs(n, to -> between(own, to, length));
          long[] got = longs(n, from -> between(from, own, length));
          Vec in = where.of(lci, values(own, total(sent)));
          Vec out = where.room(lci, total(got));
          return new Part(
              lci.world().allToAll(in, sent, out, got),
              out,
              joined(
                  n,
                  m -> {
                    long[] theirs = longs(n, to -> between(m, to, length));
                    return part(values(m, total(theirs)), theirs, own);
                  }));
        });
  }

  // Proves: J9
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void scanCombinesThoseBefore(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().scan(in, out, ReduceOp.SUM), out, sum(0, lci.rank() + 1, length));
        });
  }

  // Proves: J9
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void exclusiveScanLeavesMemberZero(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec in = where.of(lci, values(lci.rank(), length));
          Vec out = where.room(lci, length);
          return new Part(
              lci.world().exclusiveScan(in, out, ReduceOp.SUM),
              out,
              lci.rank() == 0 ? untouched(length) : sum(0, lci.rank(), length));
        });
  }

  @ParameterizedTest
  @MethodSource("jobs")
  void exclusiveScanInPlaceDoesToo(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          Vec both = where.of(lci, values(lci.rank(), length));
          return new Part(
              lci.world().exclusiveScan(both, both, ReduceOp.SUM),
              both,
              lci.rank() == 0 ? values(0, length) : sum(0, lci.rank(), length));
        });
  }

  /** Around a ring, and to member 0; in a group of one there is nobody. */
  // Proves: J9
  // On: inproc
  @ParameterizedTest
  @MethodSource("jobs")
  void neighboursExchangeBlocks(int n, Where where) {
    check(
        n,
        (lci, length) -> {
          int own = lci.rank();
          int next = (own + 1) % n;
          int[] to = n == 1 ? new int[0] : own == 0 || next == 0 ? ints(next) : ints(next, 0);
          int[] from =
              IntStream.range(0, n)
                  .filter(m -> m != own)
                  .filter(m -> own == 0 || m + 1 == own)
                  .toArray();
          Vec in = where.of(lci, values(own, to.length * length));
          Vec out = where.room(lci, from.length * length);
          return new Part(
              lci.world().neighbours(to, in, from, out),
              out,
              joined(
                  from.length,
                  i -> {
                    int m = from[i];
                    boolean second = own == 0 && m != n - 1;
                    return Arrays.copyOfRange(
                        values(m, 2 * length), second ? length : 0, second ? 2 * length : length);
                  }));
        });
  }

  private static int[] ints(int... values) {
    return values;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void shortFormsBringTheirResult(int n) {
    try (LciTestJob job = LciTestJob.start(n)) {
      List<LciRuntime> ranks = job.ranks();
      List<Long> longs =
          Mono.zip(
                  ranks.stream()
                      .map(r -> r.world().allReduce(value(r.rank(), 0), ReduceOp.MAX))
                      .toList(),
                  results -> Stream.of(results).map(r -> (Long) r).toList())
              .block(LIMIT);
      assertThat(longs).hasSize(n).containsOnly(value(n - 1, 0));
      List<Double> doubles =
          Mono.zip(
                  ranks.stream()
                      .map(r -> r.world().allReduce(r.rank() + 0.5, ReduceOp.SUM))
                      .toList(),
                  results -> Stream.of(results).map(r -> (Double) r).toList())
              .block(LIMIT);
      assertThat(doubles).hasSize(n).containsOnly(n * (n - 1) / 2 + n * 0.5);
      List<long[]> arrays =
          Mono.zip(
                  ranks.stream()
                      .map(r -> r.world().allReduce(values(r.rank(), 9), ReduceOp.SUM))
                      .toList(),
                  results -> Stream.of(results).map(r -> (long[]) r).toList())
              .block(LIMIT);
      assertThat(arrays).hasSize(n).allSatisfy(a -> assertThat(a).isEqualTo(sum(0, n, 9)));
    }
  }
}
