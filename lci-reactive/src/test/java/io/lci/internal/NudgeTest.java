/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.completion.Completion;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.internal.completion.CounterImpl;
import io.lci.internal.completion.QueueImpl;
import io.lci.internal.loop.EventLoop;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;

/** Other loops look at completion objects after each enter, however long their home is held. */
class NudgeTest {
  private static final int LOOKS = 1_000;

  private final Operations operations = new Operations();
  private final EventLoop loop = operations.runtime.loops.all.get(0);

  @AfterEach
  void close() {
    operations.close();
  }

  private void otherLoopsLook() throws InterruptedException {
    Thread other =
        new Thread(
            () -> {
              for (int i = 0; i < LOOKS; i++) {
                operations.runtime.objects.look();
              }
            });
    other.start();
    other.join();
  }

  @Test
  void aQueueWhoseLoopIsHeldGetsOneTask() throws InterruptedException {
    QueueImpl queue = (QueueImpl) operations.runtime.completions().queue(QueueOptions.defaults());
    List<Completion> taken = new ArrayList<>();
    BaseSubscriber<Completion> patient =
        new BaseSubscriber<>() {
          @Override
          protected void hookOnSubscribe(Subscription subscription) {}

          @Override
          protected void hookOnNext(Completion value) {
            taken.add(value);
          }
        };
    queue.completions().subscribe(patient);
    operations.turns(2);
    for (int round = 1; round < 4; round++) {
      operations.core.signal(queue, 1);
      otherLoopsLook();
      assertThat(loop.runRound()).as("a task, and the drain").isEqualTo(2);
      patient.request(1);
      loop.drainRound();
      assertThat(taken).hasSize(round);
    }
    patient.cancel();
  }

  /** Other loops may fill it as fast as its home empties it. */
  @Test
  void aQueueThatIsNeverEmptyLeavesItsLoopToOthers() {
    QueueImpl queue = (QueueImpl) operations.runtime.completions().queue(QueueOptions.defaults());
    int most = 100_000;
    long[] seen = new long[2];
    operations.turns(1);
    operations.core.signal(queue, 2L * most);
    queue
        .completions()
        .take(most)
        .subscribe(
            value -> {
              if (seen[0]++ == 0) {
                loop.execute(() -> seen[1] = seen[0]);
              }
            });
    for (int turn = 0; turn < most && seen[0] < most; turn++) {
      operations.turns(1);
    }
    assertThat(seen[0]).isEqualTo(most);
    assertThat(seen[1]).as("when a task had its turn").isBetween(1L, 10_000L);
  }

  @Test
  void soDoesWhoWaitsForACounter() throws InterruptedException {
    Counter counter = operations.runtime.completions().counter();
    List<Long> reached = new ArrayList<>();
    counter.reaches(1).subscribe(reached::add);
    operations.turns(2);
    operations.core.signal((CounterImpl) counter, 1);
    otherLoopsLook();
    assertThat(loop.runRound()).as("a task, and the drain").isEqualTo(2);
    assertThat(reached).containsExactly(1L);
  }
}
