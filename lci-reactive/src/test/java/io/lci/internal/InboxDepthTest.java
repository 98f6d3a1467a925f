/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.internal.runtime.RuntimeImpl;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** How many messages an inbox says it stores, over a core whose answers the test decides. */
class InboxDepthTest {
  private static final Port PORT = Port.of(5, "depth");

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final Inbox inbox = runtime.inbox(PORT);

  @AfterEach
  void close() {
    runtime.close();
  }

  private void turn() {
    runtime.loops.all.get(0).poll();
  }

  @Test
  void whatTheCoreStoresIsSeenWithoutDeliveries() {
    core.stored(0, 7);
    assertThat(inbox.depth()).as("before it is open").isZero();
    turn();
    core.stored(0, 7);
    assertThat(inbox.depth()).isEqualTo(7);
    core.stored(0, 3);
    assertThat(inbox.depth()).isEqualTo(3);
  }

  @Test
  void messagesKeptForTheNextSubscriberCountUntilItTakesThem() {
    turn();
    core.stored(0, 2);
    core.message(0);
    core.message(0);
    turn();
    assertThat(inbox.depth()).isEqualTo(4);
    Disposable taking = inbox.receive().take(1).subscribe();
    turn();
    assertThat(taking.isDisposed()).isTrue();
    assertThat(inbox.depth()).isEqualTo(3);
  }

  /** A batch for another thread may hold many messages, and no more of them are taken ahead. */
  @Test
  void noMoreIsTakenAheadInBatchesThanOneByOne() {
    inbox.dispose();
    turn();
    Scheduler never = Schedulers.fromExecutor(task -> {});
    Inbox other = runtime.inbox(PORT, InboxOptions.builder().signalOn(never).build());
    turn();
    Disposable taking = other.receiveBatches(64).subscribe();
    turn();
    for (int i = 0; i < 10; i++) { // each alone in its batch
      core.message(0);
      turn();
    }
    assertThat(other.depth()).isEqualTo(10 - 256 / 64);
    taking.dispose();
  }

  @Test
  void aClosedInboxDoesNotSpeakForTheNextOneInItsPlace() {
    turn();
    inbox.dispose();
    turn();
    Inbox next = runtime.inbox(PORT);
    turn();
    core.stored(0, 7);
    assertThat(next.depth()).isEqualTo(7);
    assertThat(inbox.depth()).isZero();
  }

  /** As {@link Inbox#dispose()} promises, also before the loop has come to it. */
  @Test
  void aPortThatWasDisposedIsOpenedAnewAtOnce() {
    turn();
    inbox.dispose();
    Inbox next = runtime.inbox(PORT);
    assertThat(next.isDisposed()).isFalse();
    turn();
    core.stored(0, 7);
    assertThat(next.depth()).isEqualTo(7);
    assertThat(runtime.inbox(PORT)).isSameAs(next);
  }

  @Test
  void nothingIsReadFromALaneThatIsGone() {
    turn();
    runtime.close();
    core.stored(0, 7);
    assertThat(inbox.depth()).isZero();
  }
}
