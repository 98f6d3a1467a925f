/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static io.lci.collective.StreamsOfAll.LIMIT;
import static io.lci.collective.StreamsOfAll.all;
import static io.lci.collective.StreamsOfAll.meet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.subscriber.TestSubscriber;

/** Streams of groups that go well: what comes where, in which order, and by whose demand. */
@ExtendWith(LciLeakCheck.class)
class GroupStreamsTest {

  /** Numbers that tell their rank. */
  private static Flux<Long> numbers(LciRuntime lci, int count) {
    return Flux.range(0, count).map(n -> lci.rank() * 1_000_000L + n);
  }

  private static void assertShuffled(List<List<Long>> got, int ranks, int count) {
    for (int rank = 0; rank < ranks; rank++) {
      int me = rank;
      assertThat(got.get(rank))
          .allMatch(n -> n % ranks == me)
          .hasSize(new java.util.HashSet<>(got.get(rank)).size());
      for (int source = 0; source < ranks; source++) {
        int from = source;
        assertThat(got.get(rank).stream().filter(n -> n / 1_000_000 == from)).isSorted();
      }
    }
    assertThat(got.stream().mapToInt(List::size).sum()).isEqualTo(ranks * count);
  }

  // Proves: J23
  // On: inproc
  @ParameterizedTest
  @CsvSource({"1, 1000", "2, 5000", "3, 0", "3, 1", "4, 5000"})
  void aShuffleBringsEachItemToItsOwnerInOrder(int ranks, int count) {
    try (LciTestJob job = LciTestJob.start(ranks)) {
      List<List<Long>> got =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(numbers(lci, count), n -> (int) (n % ranks), Codec.LONG));
      assertShuffled(got, ranks, count);
    }
  }

  // Proves: J23
  // On: tcp
  @Test
  void overANetworkTheyAreTheSame() {
    LciOptions options = LciOptions.builder().attribute("transport", "tcp").build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<List<Long>> shuffled =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(numbers(lci, 3_000), n -> (int) (n % 3), Codec.LONG));
      assertShuffled(shuffled, 3, 3_000);
      List<List<Long>> broadcast =
          all(job, lci -> lci.world().streams().broadcast(1, numbers(lci, 1_000), Codec.LONG));
      List<Long> sent = numbers(job.rank(1), 1_000).collectList().block(LIMIT);
      assertThat(broadcast).containsExactly(sent, sent, sent);
    }
  }

  // Proves: J23
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void underChaosTheyAreTheSame(long seed) {
    System.out.println("chaos seed " + seed);
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", "seed=" + seed + ",delay=0.3,ticks=64,refuse=0.1,short=0.2")
            .build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      StreamOptions small = StreamOptions.builder().windowItems(1 + (int) seed % 5).build();
      List<List<Long>> shuffled =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(numbers(lci, 500), n -> (int) (n % 3), Codec.LONG, small));
      assertShuffled(shuffled, 3, 500);
      List<List<Long>> gathered =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .gather(2, numbers(lci, 200), Codec.LONG, small)
                      .map(Sourced::item));
      assertThat(gathered.get(2)).hasSize(600).doesNotHaveDuplicates();
      List<List<Long>> broadcast =
          all(job, lci -> lci.world().streams().broadcast(1, numbers(lci, 500), Codec.LONG, small));
      List<Long> sent = numbers(job.rank(1), 500).collectList().block(LIMIT);
      assertThat(broadcast).containsExactly(sent, sent, sent);
    }
  }

  // Proves: J23
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void aGatherBringsAllToTheRoot(int ranks) {
    int root = ranks - 1;
    try (LciTestJob job = LciTestJob.start(ranks)) {
      List<List<Sourced<Long>>> got =
          all(job, lci -> lci.world().streams().gather(root, numbers(lci, 1_000), Codec.LONG));
      for (int rank = 0; rank < ranks - 1; rank++) {
        assertThat(got.get(rank)).isEmpty();
      }
      Map<Integer, List<Long>> byMember = new HashMap<>();
      for (Sourced<Long> one : got.get(root)) {
        byMember.computeIfAbsent(one.member(), m -> new ArrayList<>()).add(one.item());
      }
      for (int rank = 0; rank < ranks; rank++) {
        int from = rank;
        assertThat(byMember.get(rank))
            .containsExactlyElementsOf(
                LongStream.range(0, 1_000).map(n -> from * 1_000_000L + n).boxed().toList());
      }
    }
  }

  /** Ranks 3 and 1, in that order. */
  @Test
  void membersAreThoseOfTheGroup() {
    try (LciTestJob job = LciTestJob.start(4)) {
      List<Mono<List<Sourced<String>>>> each =
          IntStream.of(3, 1)
              .mapToObj(
                  rank ->
                      job.rank(rank)
                          .world()
                          .subgroup(5, 3, 1)
                          .streams()
                          .gather(0, Flux.just("of rank " + rank), Codec.UTF8)
                          .collectList())
              .toList();
      List<List<Sourced<String>>> got = Flux.mergeSequential(each).collectList().block(LIMIT);
      assertThat(got.get(0))
          .containsExactlyInAnyOrder(new Sourced<>(0, "of rank 3"), new Sourced<>(1, "of rank 1"));
      assertThat(got.get(1)).isEmpty();
    }
  }

  /** Each by its number, whatever is under way at the same time. */
  @Test
  void streamsOfAContextAreNumbered() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<?>> each = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Flux<List<Integer>> many =
            Flux.range(0, 50)
                .flatMapSequential(
                    i ->
                        lci.world()
                            .streams()
                            .shuffle(Flux.just(i), item -> i % 3, Codec.INT)
                            .collectList()
                            .doOnNext(
                                got ->
                                    assertThat(got)
                                        .allMatch(item -> item == i)
                                        .hasSize(i % 3 == lci.rank() ? 3 : 0)),
                    50);
        each.add(many.then());
      }
      Mono.when(each).block(LIMIT);
    }
  }

  @Test
  void aStreamGoesByTheDeviceOfItsContext() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      for (int device = 0; device < 2; device++) {
        int number = device;
        List<List<Boolean>> where =
            all(
                job,
                lci ->
                    lci.world()
                        .context(1, number)
                        .streams()
                        .shuffle(numbers(lci, 300), n -> (int) (n % 2), Codec.LONG)
                        .map(n -> lci.loops().get(number).inLoop()));
        assertThat(where).allMatch(of -> of.size() == 300 && !of.contains(false));
      }
    }
  }

  /** Devices of one loop: parts of the port are fewer than they. */
  @Test
  void severalDevicesOfALoopHaveStreams() {
    LciOptions options = LciOptions.builder().loops(2).devices(4).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      List<Mono<?>> each = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        for (int device = 0; device < 4; device++) {
          each.add(
              lci.world()
                  .context(1, device)
                  .streams()
                  .shuffle(numbers(lci, 1_000), n -> (int) (n % 2), Codec.LONG)
                  .count()
                  .doOnNext(count -> assertThat(count).isEqualTo(1_000)));
        }
      }
      Mono.when(each).block(LIMIT);
    }
  }

  @Test
  void aSourceMaySignalAnywhere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<List<Long>> got =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(
                          numbers(lci, 20_000)
                              .publishOn(Schedulers.parallel())
                              .subscribeOn(Schedulers.boundedElastic()),
                          n -> (int) (n % 2),
                          Codec.LONG));
      assertShuffled(got, 2, 20_000);
    }
  }

  /** Longer than packets and frames, and many of them in a window of bytes. */
  @Test
  void longItemsTravel() {
    try (LciTestJob job = LciTestJob.start(2)) {
      StreamOptions options = StreamOptions.builder().windowBytes(1 << 20).build();
      List<List<Integer>> got =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(
                          Flux.range(0, 60).map(i -> new byte[i % 3 == 0 ? 512 << 10 : i * 100]),
                          item -> 1 - lci.rank(),
                          Codec.BYTES,
                          options)
                      .map(bytes -> bytes.length));
      List<Integer> lengths =
          IntStream.range(0, 60).mapToObj(i -> i % 3 == 0 ? 512 << 10 : i * 100).toList();
      assertThat(got).containsExactly(lengths, lengths);
    }
  }

  @Test
  void ownItemsPassWithoutTheCodec() {
    AtomicInteger coded = new AtomicInteger();
    Codec<Object> counting =
        Codec.of(
            (item, out) -> coded.incrementAndGet(),
            in -> {
              coded.incrementAndGet();
              return new Object();
            });
    Object mine = new Object();
    try (LciTestJob job = LciTestJob.start(1)) {
      Object got =
          job.rank(0)
              .world()
              .streams()
              .shuffle(Flux.just(mine), item -> 0, counting)
              .blockLast(LIMIT);
      assertThat(got).isSameAs(mine);
      assertThat(coded).hasValue(0);
    }
  }

  /** Neither items nor memory without demand: windows here, the send window there. */
  // Proves: J24
  // On: inproc
  @Test
  void demandGovernsDelivery() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger asked = new AtomicInteger();
      TestSubscriber<Integer> slow = TestSubscriber.builder().initialRequest(1).build();
      job.rank(0)
          .world()
          .streams()
          .shuffle(Flux.<Integer>never(), item -> 0, Codec.INT)
          .subscribe(slow);
      TestSubscriber<Integer> other = TestSubscriber.create();
      job.rank(1)
          .world()
          .streams()
          .shuffle(
              Flux.range(0, 100_000).doOnRequest(n -> {}).doOnNext(n -> asked.incrementAndGet()),
              item -> 0,
              Codec.INT)
          .subscribe(other);
      await().atMost(LIMIT).until(() -> slow.getReceivedOnNext().size() == 1);
      int most = 1 + StreamOptions.DEFAULT_WINDOW_ITEMS + GroupStreams.SEND_WINDOW;
      await().atMost(LIMIT).until(() -> asked.get() >= GroupStreams.SEND_WINDOW);
      Mono.when(job.rank(0).barrier(), job.rank(1).barrier()).block(LIMIT);
      assertThat(slow.getReceivedOnNext()).containsExactly(0);
      assertThat(asked.get()).isLessThanOrEqualTo(most);
      slow.request(2);
      await().atMost(LIMIT).until(() -> slow.getReceivedOnNext().size() == 3);
      assertThat(slow.getReceivedOnNext()).containsExactly(0, 1, 2);
      slow.cancel();
      await().atMost(LIMIT).until(other::isTerminated);
    }
  }

  /** Their own windows bound them: no limit of the loop ends a stream. */
  @Test
  void framesWaitWhateverTheLimitOfTheLoop() {
    LciOptions options = LciOptions.builder().maxParked(1).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      int count = 50;
      List<Mono<Long>> each = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        for (int i = 0; i < count; i++) {
          Mono<Long> one =
              lci.world()
                  .streams()
                  .shuffle(numbers(lci, 10), n -> (int) (n % 2), Codec.LONG)
                  .count()
                  .cache();
          one.subscribe(n -> {}, error -> {}); // those of rank 0 wait for the port of rank 1
          each.add(one);
        }
        if (lci.rank() == 0) {
          await()
              .atMost(LIMIT)
              .until(() -> job.rank(0).snapshot().counter("loop_parked") > count / 2);
        }
      }
      assertThat(Flux.merge(Flux.fromIterable(each), 2 * count).collectList().block(LIMIT))
          .hasSize(2 * count)
          .allMatch(n -> n == 10);
    }
  }

  // Proves: J24
  // On: inproc
  @Test
  void aWindowBoundsBytes() {
    AtomicInteger decoded = new AtomicInteger();
    Codec<byte[]> counting =
        Codec.of(
            (bytes, out) -> out.putBytes(bytes),
            in -> {
              decoded.incrementAndGet();
              return in.toByteArray();
            });
    StreamOptions options = StreamOptions.builder().windowItems(100).windowBytes(4_096).build();
    try (LciTestJob job = LciTestJob.start(2)) {
      List<TestSubscriber<Sourced<byte[]>>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Sourced<byte[]>> one =
            TestSubscriber.<Sourced<byte[]>>builder().initialRequest(1).build();
        all.add(one);
        Flux<byte[]> items = Flux.range(0, 100 * lci.rank()).map(n -> new byte[1_000]);
        lci.world().streams().gather(0, items, counting, options).subscribe(one);
      }
      await().atMost(LIMIT).until(() -> decoded.get() >= 4);
      Mono.when(job.rank(0).barrier(), job.rank(1).barrier()).block(LIMIT);
      assertThat(decoded.get()).isLessThanOrEqualTo(5);
      all.get(0).request(Long.MAX_VALUE);
      await().atMost(LIMIT).until(all.get(0)::isTerminatedComplete);
      assertThat(all.get(0).getReceivedOnNext()).hasSize(100);
      await().atMost(LIMIT).until(all.get(1)::isTerminatedComplete);
    }
  }

  @Test
  void nothingBeginsWithoutARequest() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger subscribed = new AtomicInteger();
      TestSubscriber<Integer> idle = TestSubscriber.builder().initialRequest(0).build();
      job.rank(0)
          .world()
          .streams()
          .shuffle(Flux.just(1).doOnSubscribe(s -> subscribed.incrementAndGet()), i -> 0, Codec.INT)
          .subscribe(idle);
      idle.cancel();
      // Had it begun, it would have the number of the next one
      List<List<Integer>> got =
          all(job, lci -> lci.world().streams().shuffle(Flux.just(lci.rank()), i -> i, Codec.INT));
      assertThat(got).containsExactly(List.of(0), List.of(1));
      assertThat(subscribed).hasValue(0);
    }
  }

  @Test
  void argumentsAreChecked() {
    try (LciTestJob job = LciTestJob.start(1)) {
      GroupStreams streams = job.rank(0).world().streams();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> streams.gather(1, Flux.just(1), Codec.INT))
          .withMessageContaining("members are 0 to 0");
      StreamOptions.Builder builder = StreamOptions.builder();
      assertThatIllegalArgumentException().isThrownBy(() -> builder.windowItems(0));
      assertThatIllegalArgumentException().isThrownBy(() -> builder.windowItems(4_097));
      assertThatIllegalArgumentException().isThrownBy(() -> builder.windowBytes(1_023));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> builder.windowBytes((4 << 20) + 1))
          .withMessageContaining("windowBytes must be in 1024..4194304");
      StreamOptions options =
          builder.windowItems(7).onCancel(StreamOptions.OnCancel.DISCARD).build();
      assertThat(options.mutate().build()).hasToString(options.toString());
      assertThat(options)
          .hasToString("StreamOptions[windowItems=7, windowBytes=262144, onCancel=DISCARD]");
    }
  }

  @Test
  void windowsOfMembersMayDiffer() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<List<Long>> got =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .shuffle(
                          numbers(lci, 2_000),
                          n -> (int) (n % 3),
                          Codec.LONG,
                          StreamOptions.builder().windowItems(1 + 100 * lci.rank()).build()));
      assertShuffled(got, 3, 2_000);
    }
  }

  // Proves: J23
  // On: inproc
  @ParameterizedTest
  @CsvSource({"1, 1000", "2, 5000", "4, 3000", "3, 0"})
  void aBroadcastBringsAllToAllInOrder(int ranks, int count) {
    int root = ranks / 2;
    try (LciTestJob job = LciTestJob.start(ranks)) {
      List<List<Integer>> got =
          all(
              job,
              lci ->
                  lci.world()
                      .streams()
                      .broadcast(
                          root, lci.rank() == root ? Flux.range(0, count) : null, Codec.INT));
      assertThat(got).hasSize(ranks).allMatch(Flux.range(0, count).collectList().block()::equals);
    }
  }

  /** By the slowest that has not cancelled. */
  // Proves: J24
  // On: inproc
  @Test
  void theSlowestMemberSetsThePaceOfABroadcast() {
    try (LciTestJob job = LciTestJob.start(3)) {
      AtomicInteger emitted = new AtomicInteger();
      Flux<Integer> source = Flux.range(0, 1_000).doOnNext(n -> emitted.incrementAndGet());
      StreamOptions options = StreamOptions.builder().windowItems(10).build();
      List<TestSubscriber<Integer>> subscribers = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Integer> one =
            TestSubscriber.builder().initialRequest(lci.rank() == 1 ? 5 : Long.MAX_VALUE).build();
        subscribers.add(one);
        lci.world()
            .streams()
            .broadcast(0, lci.rank() == 0 ? source : null, Codec.INT, options)
            .subscribe(one);
      }
      await().atMost(LIMIT).until(() -> subscribers.get(1).getReceivedOnNext().size() == 5);
      await().atMost(LIMIT).until(() -> subscribers.get(2).getReceivedOnNext().size() >= 10);
      meet(job);
      assertThat(emitted.get()).isBetween(10, 15);
      subscribers.get(1).cancel();
      for (int rank : new int[] {0, 2}) {
        await().atMost(LIMIT).until(subscribers.get(rank)::isTerminatedComplete);
        assertThat(subscribers.get(rank).getReceivedOnNext()).hasSize(1_000);
      }
      assertThat(subscribers.get(1).getReceivedOnNext()).hasSize(5);
    }
  }

  /** Then nobody wants anything of the source, and its member hears no end. */
  @Test
  void aBroadcastThatAllCancelCancelsItsSource() {
    try (LciTestJob job = LciTestJob.start(3)) {
      AtomicInteger cancelled = new AtomicInteger();
      List<TestSubscriber<Long>> subscribers = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Long> one = TestSubscriber.create();
        subscribers.add(one);
        Flux<Long> source =
            Flux.interval(Duration.ofMillis(1))
                .onBackpressureDrop()
                .doOnCancel(cancelled::incrementAndGet);
        lci.world()
            .streams()
            .broadcast(2, lci.rank() == 2 ? source : null, Codec.LONG)
            .subscribe(one);
      }
      for (int rank : new int[] {2, 0, 1}) {
        assertThat(cancelled).hasValue(0);
        TestSubscriber<Long> one = subscribers.get(rank);
        int seen = one.getReceivedOnNext().size();
        await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() > seen);
        one.cancel();
      }
      await().atMost(LIMIT).untilAsserted(() -> assertThat(cancelled).hasValue(1));
    }
  }
}
