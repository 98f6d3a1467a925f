/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.LciSnapshot;
import io.lci.LciSnapshot.InboxState;
import io.lci.LciSnapshot.Stall;
import io.lci.LciSnapshot.WaitingState;
import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.test.StepVerifier;

/**
 * What a snapshot and the instrumentation tell of a loop, over a core whose answers are scripted.
 */
class SnapshotTest {
  private static final Port PORT = Port.of(5, "numbers");

  private boolean failing;

  private record Timed(Op.Kind kind, int device, long nanos) {}

  private final List<Timed> timed = new ArrayList<>();
  private final LciInstrumentation timing =
      new LciInstrumentation() {
        @Override
        public void operationTimed(Op.Kind kind, int device, long nanos) {
          timed.add(new Timed(kind, device, nanos));
          if (failing) {
            throw new IllegalStateException("an observer that fails");
          }
        }
      };
  private final ScriptedCore core = new ScriptedCore();
  private RuntimeImpl runtime = start(Duration.ofSeconds(5));

  private RuntimeImpl start(Duration stallWarning) {
    return new RuntimeImpl(
        core.calls,
        core.layout,
        1,
        LciOptions.builder()
            .invoker(true)
            .closeTimeout(Duration.ZERO)
            .stallWarning(stallWarning)
            .instrumentation(timing)
            .build());
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

  private void post(int rank, int count) {
    IntStream.range(0, count)
        .forEach(
            n -> runtime.post(Op.am(rank, PORT, Payload.ofLong(n))).subscribe(x -> {}, e -> {}));
  }

  private InboxState inboxState() {
    return runtime.snapshot().inboxes().get(0);
  }

  // Operations

  @Test
  void oneOperationInSoManyIsTimed() {
    turns(1);
    int count = 4 * LciInstrumentation.TIMED_EVERY;
    post(1, count - 1);
    turns(20);
    assertThat(core.submitted()).hasSize(count - 1);
    assertThat(timed).hasSize(3);
    post(1, 1);
    turns(2);
    assertThat(timed)
        .extracting(Timed::kind, Timed::device)
        .containsExactly(
            tuple(Op.Kind.AM, 0), tuple(Op.Kind.AM, 0), tuple(Op.Kind.AM, 0), tuple(Op.Kind.AM, 0));
    assertThat(timed).allMatch(t -> t.nanos() >= 0);
  }

  /** Its number is the one that is timed; its time ends with the signal, not with the answer. */
  @Test
  void whatWasPostedIsTimedUntilItsSignal() {
    turns(1);
    post(1, LciInstrumentation.TIMED_EVERY - 1);
    turns(10);
    core.script = submitted -> Codes.POSTED;
    Disposable barrier = runtime.barrier().subscribe(x -> {}, e -> {});
    turns(2);
    assertThat(timed).isEmpty();
    core.ended(runtime.loops.outboxes.get(0).slots.context(0), Codes.DONE, 0);
    turns(2);
    assertThat(barrier.isDisposed()).isTrue();
    assertThat(timed).extracting(Timed::kind).containsExactly(Op.Kind.BARRIER);
  }

  @Test
  void aSlotThatIsUsedAgainIsNotTimedAgain() {
    whatWasPostedIsTimedUntilItsSignal();
    runtime.barrier().subscribe(x -> {}, e -> {});
    turns(2);
    core.ended(runtime.loops.outboxes.get(0).slots.context(0), Codes.DONE, 0);
    turns(2);
    assertThat(timed).hasSize(1);
  }

  @Test
  void whatIsRefusedOrFailsIsNotTimed() {
    turns(1);
    post(1, LciInstrumentation.TIMED_EVERY - 1);
    turns(10);
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    post(1, 1);
    turns(2);
    core.script = submitted -> Codes.DONE;
    core.writable(1, PORT.number(), 1);
    turns(3);
    assertThat(runtime.snapshot().waiting()).isEmpty();
    assertThat(timed).isEmpty();
  }

  @Test
  void anObserverThatFailsHarmsNoOperation() {
    failing = true;
    turns(1);
    AtomicInteger ended = new AtomicInteger();
    int count = 2 * LciInstrumentation.TIMED_EVERY;
    for (int n = 0; n < count; n++) {
      runtime
          .post(Op.am(1, PORT, Payload.ofLong(n)))
          .subscribe(completion -> ended.incrementAndGet());
    }
    turns(20);
    assertThat(timed).hasSize(2);
    assertThat(ended).hasValue(count);
  }

  /** Every kind has a counter for every reason, and only the right one moves. */
  @Test
  void retriesAreCountedByReasonAndKind() {
    core.script =
        submitted ->
            switch (submitted.op()) {
              case Codes.OP_AM -> Codes.RETRY_NOCREDIT;
              case Codes.OP_SEND -> Codes.RETRY_LOCK;
              default -> Codes.DONE;
            };
    turns(1);
    runtime.loops.all.get(0).poster().tryPost(Op.am(1, PORT, Payload.ofLong(1)));
    runtime.loops.all.get(0).poster().tryPost(Op.am(1, PORT, Payload.ofLong(1)));
    runtime.loops.all.get(0).poster().tryPost(Op.send(2, 7, Payload.ofLong(1)));
    LciSnapshot snapshot = runtime.snapshot();
    assertThat(snapshot.counter("loop_retry_nocredit_am", 0)).isEqualTo(2);
    assertThat(snapshot.counter("loop_retry_lock_send", 0)).isEqualTo(1);
    List<String> retries =
        snapshot.counters().keySet().stream().filter(n -> n.startsWith("loop_retry_")).toList();
    long reasons = Arrays.stream(PostOutcome.values()).filter(PostOutcome::isRetry).count();
    assertThat(retries).hasSize((int) reasons * Op.Kind.values().length);
    assertThat(retries.stream().mapToLong(snapshot::counter).sum()).isEqualTo(3);
  }

  // Destinations

  @Test
  void whatWaitsIsListedWhileItWaits() {
    core.script = s -> s.rank() == 1 ? Codes.RETRY_NOCREDIT : Codes.DONE;
    turns(1);
    post(1, 3);
    post(2, 3);
    turns(2);
    assertThat(runtime.snapshot().waiting())
        .containsExactly(
            new WaitingState(
                0,
                "am rank 1 port numbers(5)",
                1,
                "numbers(5)",
                PostOutcome.RETRY_NOCREDIT,
                3,
                false));
    core.script = submitted -> Codes.DONE;
    core.writable(1, PORT.number(), 3);
    turns(3);
    assertThat(runtime.snapshot().waiting()).isEmpty();
  }

  @Test
  void aDestinationWithoutProgressIsStalled() {
    runtime.close();
    runtime = start(Duration.ofNanos(1));
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    turns(1);
    post(1, 1);
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    do { // until the loop looks for stalls again
      turns(1);
    } while (!runtime.snapshot().waiting().get(0).stalled() && System.nanoTime() < end);
    assertThat(runtime.snapshot().waiting()).extracting(WaitingState::stalled).containsOnly(true);
  }

  // Inboxes

  @Test
  void anInboxSaysWhyItDeliversNothing() {
    Inbox inbox = runtime.inbox(PORT);
    turns(1);
    assertThat(inboxState().stall()).isEqualTo(Stall.NONE);
    core.stored(0, 2);
    assertThat(inboxState().stall()).isEqualTo(Stall.NO_SUBSCRIBER);
    StepVerifier.create(inbox.receive(), 0)
        .then(() -> turns(1))
        .then(() -> assertThat(inboxState().stall()).isEqualTo(Stall.NO_DEMAND))
        .thenRequest(1)
        .then(() -> turns(1))
        .then(() -> assertThat(inboxState().stall()).isEqualTo(Stall.NONE))
        .thenCancel()
        .verify(Duration.ofSeconds(60));
    assertThat(inboxState().stall()).isEqualTo(Stall.NO_SUBSCRIBER);
    core.stored(0, 0);
    assertThat(inboxState().stall()).isEqualTo(Stall.NONE);
  }

  @Test
  void messagesThatAreHeldStallTheirInbox() {
    Inbox inbox = runtime.inbox(PORT, InboxOptions.builder().maxRetained(1).build());
    turns(1);
    List<RetainedMessage> held = new ArrayList<>();
    inbox.receiveRetained().subscribe(held::add, e -> {});
    turns(1);
    core.message(0);
    turns(2);
    assertThat(held).hasSize(1);
    core.stored(0, 1);
    assertThat(inboxState())
        .isEqualTo(new InboxState("numbers(5)", 1, inbox.capacity(), 1, Stall.RETAINED));
    held.get(0).release();
    turns(2);
    assertThat(inboxState().stall()).isEqualTo(Stall.NONE);
    assertThat(inboxState().retained()).isZero();
  }
}
