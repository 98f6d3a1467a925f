/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.completion.Completion;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
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
  private final EventLoop loop = operations.runtime.loop(0);

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
    QueueImpl queue = (QueueImpl) operations.runtime.queue(QueueOptions.defaults());
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

  @Test
  void soDoesWhoWaitsForACounter() throws InterruptedException {
    Counter counter = operations.runtime.counter();
    List<Long> reached = new ArrayList<>();
    counter.reaches(1).subscribe(reached::add);
    operations.turns(2);
    operations.core.signal((CounterImpl) counter, 1);
    otherLoopsLook();
    assertThat(loop.runRound()).as("a task, and the drain").isEqualTo(2);
    assertThat(reached).containsExactly(1L);
  }
}
