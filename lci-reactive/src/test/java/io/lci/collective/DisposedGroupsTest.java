/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.LciClosedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** Groups and contexts that are disposed of, and asked for again at once. */
@ExtendWith(LciLeakCheck.class)
class DisposedGroupsTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int ROUNDS = 200;

  private static void onLoop(LciRuntime lci, Runnable what) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    lci.loops()
        .get(0)
        .scheduler()
        .schedule(
            () -> {
              try {
                what.run();
                done.complete(null);
              } catch (Throwable e) {
                done.completeExceptionally(e);
              }
            });
    done.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static void together(LciTestJob job, Function<LciRuntime, Mono<?>> call) {
    Mono.when(job.ranks().stream().map(call).toList()).block(LIMIT);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void aContextWhoseCallsAreOverIsMadeAnewAtOnce(int size) {
    try (LciTestJob job = LciTestJob.start(size, LciOptions.builder().loops(2).build())) {
      for (int round = 0; round < ROUNDS; round++) {
        int device = round % 2;
        together(job, lci -> lci.world().context(1, device).barrier());
        for (LciRuntime lci : job.ranks()) {
          CollectiveContext before = lci.world().context(1, device);
          before.dispose();
          assertThat(lci.world().context(1, device)).isNotSameAs(before);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void aGroupWhoseCallsAreOverIsMadeAnewAtOnce(int size) {
    int[] members = IntStream.range(0, size).toArray();
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < ROUNDS; round++) {
        together(job, lci -> lci.world().subgroup(1, members).allReduce(1L, ReduceOp.SUM));
        together(job, lci -> lci.world().subgroup(1, members).allGather("a", Codec.UTF8));
        together(job, lci -> lci.world().split(0, 0).flatMap(Group::barrier));
        for (LciRuntime lci : job.ranks()) {
          lci.world().subgroup(1, members).dispose();
          lci.world().subgroup(0, members).dispose();
        }
      }
    }
  }

  @Test
  void aContextWhoseStreamsAreOverIsMadeAnewAtOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      for (int round = 0; round < ROUNDS / 4; round++) {
        together(
            job,
            lci ->
                lci.world()
                    .context(1)
                    .streams()
                    .shuffle(Flux.range(0, 10), n -> n % 2, Codec.INT)
                    .then());
        together(
            job,
            lci ->
                lci.world()
                    .context(1)
                    .streams()
                    .allReduce(Flux.just(Vec.longs(new long[] {1})), ReduceOp.SUM)
                    .then());
        job.ranks().forEach(lci -> lci.world().context(1).dispose());
      }
    }
  }

  @Test
  void onItsLoopItIsMadeAnewAtOnce() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      for (int round = 0; round < ROUNDS; round++) {
        onLoop(
            lci,
            () -> {
              CollectiveContext before = lci.world().context(1);
              before.dispose();
              assertThat(lci.world().context(1)).isNotSameAs(before);
            });
      }
    }
  }

  /** There are 1,024 at most. */
  @Test
  void itsPlaceIsFreeAtOnce() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      List<CollectiveContext> all = new ArrayList<>();
      try {
        for (int key = 0; key < 2_000; key++) {
          all.add(world.context(key));
        }
      } catch (ResourceExhaustedException full) {
        for (int key = 0; key < ROUNDS; key++) {
          all.get(key).dispose();
          world.context(10_000 + key);
        }
      }
      assertThat(all).hasSizeLessThan(2_000);
    }
  }

  /** Those that were asked for before go on, wherever that was done. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callsThatWereAskedForBeforeGoOn(boolean onLoop) {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      for (int round = 0; round < ROUNDS; round++) {
        CollectiveContext context = lci.world().context(1);
        CollectiveContext others = job.rank(1).world().context(1);
        TestSubscriber<Void> barrier = TestSubscriber.create();
        TestSubscriber<String> value = TestSubscriber.create();
        TestSubscriber<Integer> stream = TestSubscriber.create();
        Runnable all =
            () -> {
              context.barrier().subscribe(barrier);
              context.broadcast(1, null, Codec.UTF8).subscribe(value);
              context.streams().shuffle(Flux.just(1), n -> 1, Codec.INT).subscribe(stream);
              context.dispose();
              assertThatIllegalStateException()
                  .isThrownBy(() -> lci.world().context(1))
                  .withMessageContaining("was disposed of");
            };
        if (onLoop) {
          onLoop(lci, all);
        } else {
          all.run();
        }
        Mono.when(
                others.barrier(),
                others.broadcast(1, "a", Codec.UTF8),
                others.streams().shuffle(Flux.<Integer>empty(), n -> 1, Codec.INT).then())
            .block(LIMIT);
        barrier.block(LIMIT);
        value.block(LIMIT);
        stream.block(LIMIT);
        assertThat(barrier.isTerminatedComplete()).isTrue();
        assertThat(value.getReceivedOnNext()).containsExactly("a");
        assertThat(stream.isTerminatedComplete()).isTrue();
        others.dispose();
      }
    }
  }

  /** One that is asked for nothing keeps it only until its loop has looked. */
  @Test
  void whatIsNeverRequestedDoesNotKeepIt() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      CollectiveContext context = world.context(1);
      TestSubscriber<Void> idle = TestSubscriber.builder().initialRequest(0).build();
      context.barrier().subscribe(idle);
      context.dispose();
      await().atMost(LIMIT).ignoreExceptions().until(() -> world.context(1) != context);
      idle.request(1);
      idle.block(LIMIT);
      assertThat(idle.expectTerminalError()).isInstanceOf(LciClosedException.class);
    }
  }

  /** Such as leave before their first request are not counted for ever. */
  @Test
  void whoLeavesBeforeItsRequestDoesNotKeepIt() {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      for (int round = 0; round < ROUNDS; round++) {
        CollectiveContext context = world.context(1);
        for (Supplier<Flux<?>> call :
            List.<Supplier<Flux<?>>>of(
                () -> context.barrier().flux(),
                () -> context.broadcast(0, "a", Codec.UTF8).flux(),
                () -> context.streams().shuffle(Flux.just(1), n -> 0, Codec.INT))) {
          TestSubscriber<Object> idle = TestSubscriber.builder().initialRequest(0).build();
          call.get().subscribe(idle);
          idle.cancel();
        }
        context.barrier().block(LIMIT); // behind what they leave
        context.dispose();
        assertThat(world.context(1)).isNotSameAs(context);
      }
    }
  }

  /** Each call is made, or says that the context has gone; the context can be made again. */
  @Test
  void callsRaceWithTheDisposal() throws Exception {
    try (LciTestJob job = LciTestJob.start(1)) {
      World world = job.rank(0).world();
      AtomicInteger made = new AtomicInteger();
      AtomicInteger gone = new AtomicInteger();
      CyclicBarrier start = new CyclicBarrier(2);
      for (int round = 0; round < 10 * ROUNDS; round++) {
        CollectiveContext context = world.context(1);
        CompletableFuture<Void> calls =
            CompletableFuture.runAsync(
                () -> {
                  meet(start);
                  for (int i = 0; i < 3; i++) {
                    try {
                      context.barrier().block(LIMIT);
                      made.incrementAndGet();
                    } catch (LciClosedException e) {
                      gone.incrementAndGet();
                    }
                  }
                });
        meet(start);
        for (int spin = 0; spin < round % 100 * 40; spin++) {
          Thread.onSpinWait();
        }
        context.dispose();
        calls.get();
        assertThat(world.context(1)).isNotSameAs(context);
      }
      assertThat(made.get() + gone.get()).isEqualTo(30 * ROUNDS);
    }
  }

  private static void meet(CyclicBarrier where) {
    try {
      where.await();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
