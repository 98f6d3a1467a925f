/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.TaskQueue;
import io.lci.internal.runtime.RuntimeImpl;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;

/** Whoever subscribes while an inbox or its loop ends is told of it, once. */
class LateSubscriberTest {
  private static final Port PORT = Port.of(5, "late");

  /** When he comes. */
  enum Point {
    BEFORE,
    BEFORE_FROM_ELSEWHERE,
    DISPOSED,
    DISPOSED_FROM_ELSEWHERE,
    IN_THE_END_OF_ANOTHER,
    AFTER
  }

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final Late late = new Late();

  @AfterEach
  void close() {
    runtime.close();
  }

  private void turns(int count) {
    for (int i = 0; i < count; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  /** Asks for nothing by himself. */
  private static final class Late extends BaseSubscriber<Message> {
    final List<Throwable> errors = new ArrayList<>();
    int completions;

    @Override
    protected void hookOnSubscribe(Subscription subscription) {}

    @Override
    protected void hookOnError(Throwable error) {
      errors.add(error);
    }

    @Override
    protected void hookOnComplete() {
      completions++;
    }
  }

  private static void elsewhere(Runnable task) throws InterruptedException {
    Thread thread = new Thread(task);
    thread.start();
    thread.join();
  }

  @ParameterizedTest
  @EnumSource(Point.class)
  void theEndOfAnInboxIsToldOnce(Point point) throws InterruptedException {
    Inbox inbox = runtime.inbox(PORT);
    turns(1);
    switch (point) {
      case BEFORE -> inbox.receive().subscribe(late);
      case BEFORE_FROM_ELSEWHERE -> elsewhere(() -> inbox.receive().subscribe(late));
      case IN_THE_END_OF_ANOTHER ->
          inbox.receive().subscribe(m -> {}, e -> {}, () -> inbox.receive().subscribe(late));
      default -> {}
    }
    inbox.dispose();
    if (point == Point.DISPOSED) {
      inbox.receive().subscribe(late);
    } else if (point == Point.DISPOSED_FROM_ELSEWHERE) {
      elsewhere(() -> inbox.receive().subscribe(late));
    }
    turns(3);
    if (point == Point.AFTER) {
      inbox.receive().subscribe(late);
    }
    assertThat(late.completions + late.errors.size()).isEqualTo(1);
    late.request(1);
    turns(1);
    runtime.close();
    assertThat(late.completions + late.errors.size()).isEqualTo(1);
  }

  /** The loop ends between the subscription and the opening of the port. */
  @Test
  void anInboxThatIsNeverOpenedTellsItsSubscriberOnce() {
    InboxImpl inbox =
        new InboxImpl(runtime.inboxes, runtime.loops.inboxes.get(0), PORT, InboxOptions.defaults());
    turns(1);
    inbox.receive().subscribe(late);
    turns(1);
    inbox.openRejected();
    assertThat(late.errors).singleElement().isInstanceOf(LciClosedException.class);
    Late next = new Late();
    inbox.receive().subscribe(next);
    assertThat(next.errors).singleElement().isInstanceOf(LciClosedException.class);
    turns(2);
    assertThat(late.errors).hasSize(1);
  }

  /** Who handles has no subscriber to be told by. */
  @Test
  void aHandlerThatComesTooLateIsRefused() {
    Inbox inbox = runtime.inbox(PORT);
    turns(1);
    inbox.dispose();
    turns(2);
    assertThatThrownBy(() -> inbox.handle(message -> {}))
        .isInstanceOf(LciException.class)
        .hasMessageContaining("LciRuntime.inbox");
  }

  /** Two threads would tell a subscriber of the end, each for itself. */
  @Test
  void nothingIsRejectedElsewhereWhileTheLoopTellsOfItsEnd() {
    Lane lane = Lane.open(core.calls, core.layout, 1, 0, 1, 4, core.layout.completionCount());
    TaskQueue queue = new TaskQueue(lane, error -> {});
    List<String> rejected = new ArrayList<>();
    queue.end();
    assertThat(queue.execute(task("while it ends", rejected))).isFalse();
    assertThat(rejected).isEmpty();
    queue.reject();
    assertThat(rejected).containsExactly("while it ends");
    assertThat(queue.execute(task("after it", rejected))).isFalse();
    assertThat(rejected).containsExactly("while it ends", "after it");
  }

  private static LoopTask task(String name, List<String> rejected) {
    return new LoopTask() {
      @Override
      public void run() {
        throw new AssertionError("the loop has ended");
      }

      @Override
      public void rejected() {
        rejected.add(name);
      }
    };
  }
}
