/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostResult;
import io.lci.ThreadsGuideTest;
import io.lci.am.Inbox;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Nothing of this library blocks a loop's thread, and what users block it with is found. In a JVM
 * of its own: the agent changes the whole JDK.
 */
@Tag("blockhound")
@ExtendWith(LciLeakCheck.class)
class BlockHoundTest {
  private static final Port PORT = Port.of(63, "blockhound");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 600;
  private static final int[] SIZES = {4, 180, 2_000, 20_000};

  /** Whatever becomes of the error. */
  private static final Queue<Error> FOUND = new ConcurrentLinkedQueue<>();

  @BeforeAll
  static void install() {
    BlockHound.install(
        builder -> {
          builder.blockingMethodCallback(
              method -> {
                Error error = new BlockingOperationError(method);
                FOUND.add(error);
                throw error;
              });
          ThreadsGuideTest.allowLoops(builder);
        });
  }

  @AfterEach
  void nothingElseWasFound() {
    Error first = FOUND.peek();
    FOUND.clear();
    if (first != null) {
      throw new AssertionError("a thread that must not block did", first);
    }
  }

  private static int sleep(int value) {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    return value;
  }

  @Test
  void aSleepInAUsersMapIsCaught() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Flux<Integer> received = lci.inbox(PORT).receive(m -> m.getInt(0)).map(BlockHoundTest::sleep);
      StepVerifier.create(received)
          .then(() -> lci.sender(PORT).send(0, Payload.ofInt(1)).block(LIMIT))
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(BlockingOperationError.class)
                      .hasMessageContaining("sleep"))
          .verify(LIMIT);
      assertThat(FOUND).hasSize(1);
      FOUND.clear();
      // Elsewhere it may.
      Mono<Integer> moved =
          lci.post(Op.barrier().signalOn(Schedulers.boundedElastic())).map(c -> sleep(7));
      assertThat(moved.block(LIMIT)).isEqualTo(7);
    }
  }

  @Test
  void theLibraryBlocksNowhere() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime from = job.rank(0);
      LciRuntime to = job.rank(1);
      int count = 2_000;
      Inbox inbox = to.inbox(PORT);
      for (int bytes : new int[] {4, 2_000, 20_000}) {
        Mono<Long> received = inbox.receive().take(count / 10).count();
        Mono<Void> sent =
            from.sender(PORT)
                .sendAll(
                    1,
                    Flux.range(0, count / 10),
                    (n, out) -> out.putBytes(new byte[bytes], 0, bytes));
        assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1())
            .isEqualTo(count / 10);
      }
      Synchronizer fired = from.completions().synchronizer(1);
      Mono.when(
              fired.next(),
              to.tagged().receive(0, 5),
              from.post(Op.send(1, 5, Payload.ofInt(5)).advanced(a -> a.device(1))),
              from.post(Op.receive(1, 6, 8).completeTo(fired)),
              to.tagged().send(0, 6, Payload.ofInt(6)))
          .block(LIMIT);
      for (LciRuntime owner : job.ranks()) {
        MemoryRegion region = owner.memory().allocate(64);
        RemoteMemory opened = from.memory().remote(owner.rank(), region.handle());
        opened.put(0, Payload.ofLong(9)).block(LIMIT);
        assertThat(opened.get(0, 8).block(LIMIT)).startsWith(9);
        region.disposeLater().block(LIMIT);
      }
      Mono.when(from.barrier(), to.barrier()).block(LIMIT);
      from.loops()
          .get(1)
          .scheduler()
          .schedule(() -> from.loops().get(1).poster().tryPost(Op.am(1, PORT, Payload.ofInt(1))));
      assertThat(inbox.receive().next().block(LIMIT)).isNotNull();
    } // and closing does not, either
  }

  /** A timer whose queue another thread holds whenever a task is to be taken from it. */
  private record BusyTimer(Scheduler timer) implements Scheduler {
    private static Disposable whenFree(Disposable task) {
      return () -> {
        LockSupport.parkNanos(1);
        task.dispose();
      };
    }

    @Override
    public Disposable schedule(Runnable task) {
      return timer.schedule(task);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
      return whenFree(timer.schedule(task, delay, unit));
    }

    @Override
    public Disposable schedulePeriodically(Runnable task, long first, long next, TimeUnit unit) {
      return whenFree(timer.schedulePeriodically(task, first, next, unit));
    }

    @Override
    public Worker createWorker() {
      return timer.createWorker();
    }
  }

  @Test
  void aTimerMayBeBusy() {
    LciOptions options =
        LciOptions.builder().timer(new BusyTimer(VirtualTimeScheduler.create())).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      assertThat(calls(job.rank(0), job.rank(1)).block(LIMIT)).isEqualTo(COUNT);
    }
  }

  /** What a program does with two ranks; tells how much came. */
  private interface Work {
    Mono<Long> of(LciRuntime from, LciRuntime to);
  }

  static Stream<Arguments> works() {
    Map<String, Work> works =
        Map.of(
            "streams", BlockHoundTest::streams,
            "calls", BlockHoundTest::calls,
            "graph", BlockHoundTest::graph,
            "queue", BlockHoundTest::queue,
            "counter", BlockHoundTest::counter,
            "retained", BlockHoundTest::retained,
            "batches", BlockHoundTest::batches,
            "route", BlockHoundTest::route,
            "bulk post", BlockHoundTest::bulkPost);
    return works.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .flatMap(
            work ->
                Stream.of(false, true)
                    .map(onLoop -> Arguments.of(work.getKey(), onLoop, work.getValue())));
  }

  /** Also when all of it is set up on the loop itself. */
  @ParameterizedTest(name = "{0}, from the loop {1}")
  @MethodSource("works")
  void thisDoesNotBlock(String name, boolean onLoop, Work work) {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime from = job.rank(0);
      Mono<Long> all = Mono.defer(() -> work.of(from, job.rank(1)));
      Mono<Long> there = onLoop ? all.subscribeOn(from.loops().get(0).scheduler()) : all;
      assertThat(there.block(LIMIT)).isEqualTo(COUNT);
    }
  }

  private static int size(int number) {
    return SIZES[number % SIZES.length];
  }

  private static Payload payload(int number) {
    return Payload.of(new byte[size(number)]);
  }

  /** Sends all that an inbox at the other end is to get; counts what it got. */
  private static Mono<Long> sent(LciRuntime from, Flux<?> received) {
    Mono<Void> sent =
        from.sender(PORT)
            .sendAll(
                1, Flux.range(0, COUNT), (n, out) -> out.putBytes(new byte[size(n)], 0, size(n)));
    return Mono.zip(received.take(COUNT).count(), sent.thenReturn(1)).map(both -> both.getT1());
  }

  private static Mono<Long> streams(LciRuntime from, LciRuntime to) {
    Flux<byte[]> items = Flux.range(0, COUNT / 2).map(n -> new byte[size(n)]);
    from.streams().publish("items", items, Codec.BYTES);
    to.streams().publish("items", items, Codec.BYTES);
    Flux<byte[]> there = from.streams().subscribe(1, "items", Codec.BYTES);
    Flux<byte[]> back = to.streams().subscribe(0, "items", Codec.BYTES);
    return there.take(3).then(Flux.merge(there, back).count()); // which cancels one
  }

  private static Mono<Long> calls(LciRuntime from, LciRuntime to) {
    to.rpc()
        .serve(
            "echo",
            new RpcHandler() {
              @Override
              public Mono<Void> fireAndForget(Message request) {
                return Mono.empty();
              }

              @Override
              public Mono<Payload> requestResponse(Message request) {
                return Mono.just(Payload.of(request.toByteArray()));
              }

              @Override
              public Publisher<Payload> requestStream(Message request) {
                return Flux.range(0, COUNT / 3).map(BlockHoundTest::payload);
              }

              @Override
              public Publisher<Payload> requestChannel(int rank, Flux<Message> requests) {
                return requests.map(m -> Payload.of(m.toByteArray()));
              }
            });
    Rpc rpc = from.rpc();
    CallOptions bounded = CallOptions.builder().deadline(LIMIT).build();
    Flux<Payload> requests = Flux.range(0, COUNT / 3).map(BlockHoundTest::payload);
    return rpc.fireAndForget(1, "echo", Payload.empty())
        .thenMany(
            Flux.merge(
                requests.flatMap(p -> rpc.requestResponse(1, "echo", p, bounded), 16),
                rpc.requestStream(1, "echo", Payload.empty()),
                rpc.requestChannel(1, "echo", requests)))
        .count();
  }

  private static Mono<Long> graph(LciRuntime from, LciRuntime to) {
    CompletionGraph.Builder builder = from.completions().graph();
    Node<Integer> first = builder.call(r -> 1);
    Node<Completion> send = builder.op(Op.send(1, 9, Payload.ofLong(5)));
    Node<Completion> receive = builder.op(Op.receive(1, 10, Long.BYTES));
    Node<Long> last = builder.mono(r -> Mono.just(r.get(receive).message().getLong(0)));
    builder.before(first, send).before(first, receive).before(receive, last);
    builder.before(send, last);
    CompletionGraph graph = builder.build();
    Mono<Long> echoes =
        to.tagged()
            .receive(0, 9)
            .flatMap(m -> to.tagged().send(0, 10, Payload.of(m.toByteArray())))
            .repeat(COUNT / 5 - 1)
            .count();
    Mono<Long> sum = graph.run().repeat(COUNT / 5 - 1).map(r -> r.get(last)).reduce(0L, Long::sum);
    return Mono.zip(sum, echoes).map(both -> both.getT1()).doFinally(how -> graph.dispose());
  }

  private static Flux<Completion> completing(LciRuntime from, LciRuntime to, CompletionTarget end) {
    to.inbox(PORT).handle(m -> {});
    return Flux.range(0, COUNT).flatMap(n -> from.post(Op.am(1, PORT, payload(n)).completeTo(end)));
  }

  private static Mono<Long> queue(LciRuntime from, LciRuntime to) {
    CompletionQueue queue = from.completions().queue(QueueOptions.defaults());
    Mono<Long> popped = queue.completions().take(COUNT).count();
    return Mono.zip(popped, completing(from, to, queue).count()).map(both -> both.getT1());
  }

  private static Mono<Long> counter(LciRuntime from, LciRuntime to) {
    Counter counter = from.completions().counter();
    return Mono.zip(counter.reaches(COUNT), completing(from, to, counter).count())
        .map(both -> both.getT1());
  }

  private static Mono<Long> retained(LciRuntime from, LciRuntime to) {
    return sent(from, to.inbox(PORT).receiveRetained().doOnNext(RetainedMessage::release));
  }

  private static Mono<Long> batches(LciRuntime from, LciRuntime to) {
    return sent(
        from, to.inbox(PORT).receiveBatches(16, m -> m.size()).flatMapIterable(batch -> batch));
  }

  private static Mono<Long> route(LciRuntime from, LciRuntime to) {
    Flux<Integer> received =
        Flux.merge(
            from.inbox(PORT).receive(m -> m.size()).take(COUNT / 2),
            to.inbox(PORT).receive(m -> m.size()).take(COUNT / 2));
    Flux<PostResult<Integer>> sent =
        from.sender(PORT)
            .route(
                Flux.range(0, COUNT),
                n -> n % 2,
                (n, out) -> out.putBytes(new byte[size(n)], 0, size(n)));
    return Mono.zip(received.count(), sent.filter(PostResult::isSuccess).count())
        .map(both -> Math.min(both.getT1(), both.getT2()));
  }

  private static Mono<Long> bulkPost(LciRuntime from, LciRuntime to) {
    Flux<Integer> numbers = Flux.range(0, COUNT / 2);
    PostOptions bounded = PostOptions.builder().deadline(LIMIT).build();
    return Flux.merge(
            from.post(numbers, n -> Op.send(1, n, payload(n)), bounded),
            to.post(numbers, n -> Op.receive(0, n, 20_000), bounded))
        .filter(PostResult::isSuccess)
        .count();
  }
}
