/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.PeerFailedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.ScriptedCore.Submitted;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** Waiting, order and resubmission, over a core whose answers the test decides. */
class OutboxTest {
  private static final Port PORT = Port.of(5, "outbox");

  private final ScriptedCore core = new ScriptedCore();
  private RuntimeImpl runtime =
      start(LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final List<Integer> accepted = new ArrayList<>();
  private final List<Throwable> errors = new ArrayList<>();

  private RuntimeImpl start(LciOptions options) {
    return new RuntimeImpl(core.calls, core.layout, 1, options);
  }

  @AfterEach
  void close() {
    runtime.close();
  }

  private void turns(int count) {
    for (int i = 0; i < count; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  private Disposable post(int rank, int number) {
    return runtime
        .post(Op.am(rank, PORT, Payload.ofLong(number)))
        .subscribe(c -> accepted.add(number), errors::add);
  }

  /** What the core accepted for a rank, in order. */
  private ScriptedCore.Script recording(List<Long> order, ScriptedCore.Script answers) {
    return submitted -> {
      int code = answers.answer(submitted);
      if (Codes.isDone(code)) {
        order.add(submitted.first());
      }
      return code;
    };
  }

  /** What is done at once frees the window at once: the next ones follow in the same turn. */
  @ParameterizedTest
  @ValueSource(ints = {256, 16_384})
  void theCoreProgressesBetweenElementsThatAreDoneAtOnce(int window) {
    int count = 40_000;
    List<Object> results = new ArrayList<>();
    runtime
        .post(
            Flux.range(0, count),
            n -> Op.am(1, PORT, Payload.ofLong(n)),
            PostOptions.builder().window(window).build())
        .subscribe(results::add, errors::add);
    for (int i = 0; i < count && results.size() < count; i++) {
      turns(1);
    }
    assertThat(errors).isEmpty();
    assertThat(results).hasSize(count);
    // A turn has two parts for fresh ones, one for those that wait; one source may overshoot
    assertThat(core.mostWithoutProgress).isBetween(1, 4 * EventLoop.POST_BUDGET);
  }

  /** A link that loses a frame is lost, and its own window bounds how many wait. */
  @Test
  void framesOfLinksWaitAlsoWhereTheLoopKeepsNoMore() {
    runtime.close();
    int limit = 1_024;
    runtime =
        start(
            LciOptions.builder()
                .invoker(true)
                .maxParked(limit)
                .closeTimeout(Duration.ZERO)
                .build());
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    for (int i = 0; i <= limit; i++) {
      post(1, i);
    }
    turns(8);
    assertThat(errors).singleElement().isInstanceOf(ResourceExhaustedException.class);
    List<String> called = new ArrayList<>();
    runtime
        .rpc()
        .fireAndForget(2, "f", Payload.empty())
        .subscribe(none -> {}, errors::add, () -> called.add("f"));
    turns(4);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(limit + 1);
    assertThat(errors).hasSize(1);
    List<Submitted> accepted = new ArrayList<>();
    core.script =
        submitted -> {
          accepted.add(submitted);
          return Codes.DONE;
        };
    core.writable(2, ReservedPorts.SESSIONS.number(), 1);
    turns(4);
    assertThat(accepted)
        .filteredOn(submitted -> submitted.port() == ReservedPorts.SESSIONS.number())
        .singleElement()
        .extracting(Submitted::rank)
        .isEqualTo(2);
    assertThat(called).containsExactly("f");
    assertThat(errors).hasSize(1);
  }

  // Proves: V4
  @ParameterizedTest
  @ValueSource(
      ints = {
        Codes.RETRY_NOCREDIT,
        Codes.RETRY_NOMEM,
        Codes.RETRY_NOPACKET,
        Codes.RETRY_LOCK,
        Codes.RETRY_BACKLOG,
        Codes.RETRY_PENDING
      })
  void everyReasonKeepsTheOrderPerDestination(int reason) {
    Random random = new Random(reason);
    List<Long> order = new ArrayList<>();
    Set<Integer> refusedInBatch = new HashSet<>();
    int[] batch = {-1};
    core.script =
        recording(
            order,
            submitted -> {
              if (batch[0] != core.batches.size()) {
                batch[0] = core.batches.size();
                refusedInBatch.clear();
              }
              if (refusedInBatch.contains(submitted.rank())) {
                return Codes.RETRY_ORDER;
              }
              if (random.nextInt(4) == 0) {
                refusedInBatch.add(submitted.rank());
                return reason;
              }
              return Codes.DONE;
            });
    int count = 2000;
    turns(1);
    for (int i = 0; i < count; i++) {
      post(i % 3, i);
      if (i % 100 == 0) {
        turns(1);
      }
    }
    for (int i = 0; i < 20_000 && accepted.size() < count; i++) {
      core.generation++;
      for (int rank = 0; rank < 3; rank++) {
        core.writable(rank, PORT.number(), 2);
      }
      if (reason == Codes.RETRY_PENDING && i % 2 == 0) {
        runtime.loops.outboxes.get(0).completionSeen();
      }
      turns(1);
    }
    assertThat(errors).isEmpty();
    assertThat(accepted).hasSize(count);
    assertThat(order).hasSize(count);
    for (int rank = 0; rank < 3; rank++) {
      int r = rank;
      assertThat(order.stream().filter(n -> n % 3 == r)).isSorted();
    }
  }

  @Test
  void aGrantIsNotExceededByMoreThanTheProbeThatFindsItsEnd() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    IntStream.range(0, 1000).forEach(i -> post(1, i));
    turns(4);
    int[] credit = {16};
    core.script = submitted -> credit[0]-- > 0 ? Codes.DONE : Codes.RETRY_NOCREDIT;
    core.batches.clear();
    core.writable(1, PORT.number(), 16);
    turns(10);
    assertThat(accepted).hasSize(16);
    assertThat(core.submitted()).hasSizeLessThanOrEqualTo(17);
    assertThat(core.batches.stream().mapToInt(List::size).max()).hasValue(16);
  }

  /** Whatever waits, a turn attempts what was granted, and once in a while finds the end of it. */
  // Proves: V4
  @Test
  void aMillionWaitingMonosCostATurnWhatWasGranted() {
    int count = 1_000_000;
    int granted = 16;
    int[] credit = {0};
    List<Long> order = new ArrayList<>();
    core.script =
        recording(order, submitted -> credit[0]-- > 0 ? Codes.DONE : Codes.RETRY_NOCREDIT);
    turns(1);
    for (int i = 0; i < count; i++) {
      post(1, i);
      if (i % 1000 == 0) {
        turns(1);
      }
    }
    while (runtime.loops.outboxes.get(0).parkedCount() < count) {
      turns(1);
    }
    assertThat(accepted).isEmpty();
    long attempts = runtime.snapshot().counter("loop_resubmitted");
    while (accepted.size() < count) {
      int before = accepted.size();
      credit[0] = granted;
      core.batches.clear();
      core.writable(1, PORT.number(), granted);
      turns(3); // it is read, used, and its end is found
      assertThat(accepted).hasSize(before + granted);
      assertThat(core.submitted()).hasSizeLessThanOrEqualTo(granted + 1);
    }
    attempts = runtime.snapshot().counter("loop_resubmitted") - attempts;
    assertThat(attempts).isBetween((long) count, (long) count + count / granted);
    assertThat(order).isEqualTo(LongStream.range(0, count).boxed().toList());
    assertThat(errors).isEmpty();
  }

  /** Room that came before another was refused in the same turn is not forgotten. */
  @ParameterizedTest
  @ValueSource(ints = {Codes.RETRY_NOMEM, Codes.RETRY_NOPACKET, Codes.RETRY_PENDING})
  void aLaterRefusalHidesNoRoomFromThoseWhoWait(int reason) {
    turns(1);
    core.script = submitted -> submitted.rank() == 3 ? Codes.DONE : reason;
    post(1, 0);
    runtime
        .post(Op.am(3, PORT, Payload.ofLong(3)))
        .subscribe(
            c ->
                runtime
                    .loops
                    .all
                    .get(0)
                    .poster()
                    .submit(Op.am(2, PORT, Payload.ofLong(2)).onError(errors::add))
                    .flush());
    core.generation++; // in the enter that refuses the first, before the flush that refuses another
    turns(1);
    assertThat(core.submitted().stream().map(Submitted::rank)).containsExactly(1, 3, 2);
    core.script = submitted -> submitted.rank() == 1 ? Codes.DONE : reason;
    turns(3);
    assertThat(accepted).containsExactly(0);
    assertThat(errors).isEmpty();
  }

  @Test
  void aGrantWithoutANumberIsAnInvitationToTry() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    IntStream.range(0, 3).forEach(i -> post(1, i));
    turns(3);
    core.script = submitted -> Codes.DONE;
    core.writable(1, PORT.number(), 0);
    turns(5);
    assertThat(accepted).containsExactly(0, 1, 2);
  }

  @Test
  void anotherDestinationIsNotHeldUp() {
    core.script = submitted -> submitted.rank() == 1 ? Codes.RETRY_NOCREDIT : Codes.DONE;
    turns(1);
    IntStream.range(0, 500).forEach(i -> post(1, i));
    turns(3);
    IntStream.range(500, 600).forEach(i -> post(2, i));
    turns(3);
    assertThat(accepted).hasSize(100);
    // and what waits is not attempted again without a grant
    core.batches.clear();
    turns(20);
    assertThat(core.submitted()).isEmpty();
  }

  @Test
  void aCancelledOperationIsUnlinkedWhereverItWaits() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    List<Disposable> posts = IntStream.range(0, 9).mapToObj(i -> post(1, i)).toList();
    turns(3);
    posts.get(0).dispose();
    posts.get(4).dispose();
    posts.get(8).dispose();
    turns(2);
    core.script = submitted -> Codes.DONE;
    core.writable(1, PORT.number(), 100);
    turns(5);
    assertThat(accepted).containsExactly(1, 2, 3, 5, 6, 7);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isZero();
  }

  /** The reason was that of one which is gone: nobody would say when the next may go. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void whatIsRefusedForTheOrderAloneIsTriedAgain(int granted) {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    Disposable first = post(1, 0);
    post(1, 1);
    turns(3);
    core.script =
        submitted -> {
          if (submitted.first() == 0) {
            first.dispose(); // while the core looks at it
            return Codes.RETRY_NOMEM;
          }
          return Codes.RETRY_ORDER;
        };
    core.writable(1, PORT.number(), granted);
    turns(2);
    assertThat(first.isDisposed()).isTrue();
    core.script = submitted -> Codes.DONE;
    core.generation++;
    turns(10);
    assertThat(accepted).containsExactly(1);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isZero();
  }

  /** To the core a reply and a message have one order, here they wait apart. */
  @Test
  void whatWasRefusedBehindAReplyIsTriedAgain() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    post(1, 0);
    turns(3);
    int[] asked = new int[1];
    core.script = submitted -> asked[0]++ == 0 ? Codes.RETRY_ORDER : Codes.DONE;
    core.writable(1, PORT.number(), 1);
    turns(10);
    assertThat(accepted).containsExactly(0);
  }

  /** A loop that has no slot for it has written it already, and it waits on. */
  @Test
  void whatFoundNoSlotIsUnlinkedToo() {
    runtime.close();
    runtime =
        start(LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).maxPosted(1).build());
    List<Long> contexts = new ArrayList<>();
    core.script =
        submitted -> {
          contexts.add(submitted.context());
          return Codes.POSTED;
        };
    turns(1);
    List<Disposable> posts =
        LongStream.range(0, 3)
            .mapToObj(
                n ->
                    Op.am(1, PORT, Payload.ofLong(n))
                        .advanced(a -> a.semantic(Op.Semantic.NETWORK)))
            .map(op -> runtime.post(op).subscribe(c -> {}, errors::add))
            .toList();
    turns(2);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(2);
    core.ended(contexts.get(0), Codes.DONE, 1);
    turns(2);
    assertThat(contexts).hasSize(2);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(1);
    posts.get(2).dispose();
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isZero();
    core.ended(contexts.get(1), Codes.DONE, 1);
    turns(4);
    assertThat(contexts).hasSize(2);
    assertThat(errors).isEmpty();
  }

  /** What is done at once, or refused, leaves no completion behind that tells of its slot. */
  @ParameterizedTest
  @ValueSource(ints = {Codes.DONE, Codes.RETRY_NOCREDIT})
  void aSlotThatWasNotNeededIsForTheNext(int ofTheFirst) {
    runtime.close();
    runtime =
        start(LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).maxPosted(1).build());
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    for (int i = 0; i < 3; i++) {
      Disposable posted =
          runtime
              .post(
                  Op.am(Math.min(2, i + 1), PORT, Payload.ofLong(i))
                      .advanced(a -> a.semantic(Op.Semantic.NETWORK)))
              .subscribe(c -> {}, errors::add);
      assertThat(posted).isNotNull();
    }
    turns(2);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(3);
    core.script = submitted -> submitted.rank() == 1 ? ofTheFirst : Codes.DONE;
    core.writable(1, PORT.number(), 100);
    core.writable(2, PORT.number(), 100);
    turns(8);
    assertThat(runtime.loops.outboxes.get(0).parkedCount())
        .isEqualTo(ofTheFirst == Codes.DONE ? 0 : 1);
    core.batches.clear();
    turns(8);
    assertThat(core.submitted()).isEmpty(); // what waits for credit is not tried in vain
    assertThat(errors).isEmpty();
  }

  /** What else is in the batch whose outcomes are read is not taken out of it. */
  @Test
  void aHookForDiscardedElementsMayCancelAnotherSender() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    Disposable.Swap other = Disposables.swap();
    Disposable failing =
        runtime
            .sender(PORT)
            .sendAll(1, Flux.just(1L), (n, out) -> out.putLong(n))
            .doOnDiscard(Long.class, n -> other.dispose())
            .subscribe(none -> {}, errors::add);
    other.update(
        runtime
            .sender(PORT)
            .sendAll(1, Flux.just(2L, 3L).concatWith(Flux.never()), (n, out) -> out.putLong(n))
            .subscribe());
    turns(3);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(3);
    core.script =
        submitted -> submitted.first() == 1 ? Codes.ERR_PORT_CLOSED : Codes.RETRY_NOCREDIT;
    core.writable(1, PORT.number(), 10);
    turns(4);
    assertThat(errors).hasSize(1);
    assertThat(failing.isDisposed()).isTrue();
    assertThat(other.isDisposed()).isTrue();
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isZero();
    IntStream.range(4, 7).forEach(i -> post(1, i));
    turns(3);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(3);
    core.script = submitted -> Codes.DONE;
    core.writable(1, PORT.number(), 10);
    turns(4);
    assertThat(accepted).containsExactly(4, 5, 6);
  }

  /** What the hook takes back may lie between two elements that are taken back just now. */
  @Test
  void aHookOfACancelledSenderMayCancelAnotherSender() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    Sinks.Many<Long> first = Sinks.many().unicast().onBackpressureBuffer();
    Sinks.Many<Long> second = Sinks.many().unicast().onBackpressureBuffer();
    List<Long> discarded = new ArrayList<>();
    Disposable.Swap other = Disposables.swap();
    Disposable cancelled =
        runtime
            .sender(PORT)
            .sendAll(1, first.asFlux(), (n, out) -> out.putLong(n))
            .doOnDiscard(
                Long.class,
                n -> {
                  discarded.add(n);
                  other.dispose();
                })
            .subscribe(none -> {}, errors::add);
    other.update(
        runtime
            .sender(PORT)
            .sendAll(1, second.asFlux(), (n, out) -> out.putLong(n))
            .doOnDiscard(Long.class, discarded::add)
            .subscribe(none -> {}, errors::add));
    turns(2);
    first.tryEmitNext(1L).orThrow();
    turns(2);
    second.tryEmitNext(2L).orThrow();
    turns(2);
    first.tryEmitNext(3L).orThrow();
    turns(2);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isEqualTo(3);
    cancelled.dispose();
    turns(2);
    assertThat(runtime.loops.outboxes.get(0).parkedCount()).isZero();
    assertThat(discarded).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(errors).isEmpty();
  }

  @Test
  void anErrorFailsItsOperationAlone() {
    turns(1);
    core.script = submitted -> submitted.first() == 2 ? Codes.ERR_PEER_FAILED : Codes.DONE;
    IntStream.range(0, 5).forEach(i -> post(1, i));
    turns(3);
    assertThat(accepted).containsExactly(0, 1, 3, 4);
    assertThat(errors).singleElement().isInstanceOf(PeerFailedException.class);
  }

  @Test
  void tooManyWaitingOperationsAreAnError() {
    runtime.close();
    runtime =
        start(LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).maxParked(10).build());
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    IntStream.range(0, 15).forEach(i -> post(1, i));
    turns(3);
    assertThat(errors)
        .hasSize(5)
        .allMatch(
            e ->
                e instanceof ResourceExhaustedException
                    && e.getMessage().contains("lci.max_parked"));
  }

  @Test
  void aBulkSendThatWaitsGoesOutInOrderBehindOthers() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    post(1, 0);
    Disposable sending =
        runtime.sender(PORT).sendAll(1, Flux.range(1, 300), (n, out) -> out.putLong(n)).subscribe();
    turns(3);
    List<Long> order = new ArrayList<>();
    core.script = recording(order, submitted -> Codes.DONE);
    core.writable(1, PORT.number(), 5);
    turns(30);
    assertThat(order).isEqualTo(IntStream.rangeClosed(0, 300).mapToObj(Long::valueOf).toList());
    assertThat(sending.isDisposed()).isTrue();
  }

  @Test
  void longInlinePayloadsTakeSeveralEntries() {
    turns(1);
    Flux<byte[]> items = Flux.range(0, 193).map(byte[]::new);
    Disposable sending =
        runtime.sender(PORT).sendAll(2, items, (bytes, out) -> out.putBytes(bytes)).subscribe();
    turns(10);
    assertThat(sending.isDisposed()).isTrue();
    assertThat(core.submitted().stream().map(Submitted::size))
        .isEqualTo(IntStream.range(0, 193).boxed().toList());
  }
}
