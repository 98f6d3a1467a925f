/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Synchronizer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/**
 * Nothing of this library blocks a loop's thread, and what users block it with is found. In a JVM
 * of its own: the agent changes the whole JDK.
 */
@Tag("blockhound")
@ExtendWith(LciLeakCheck.class)
class BlockHoundTest {
  private static final Port PORT = Port.of(63, "blockhound");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @BeforeAll
  static void install() {
    BlockHound.install(
        builder ->
            builder
                // A loop rests there and nowhere else, and wakes for all that concerns it.
                .allowBlockingCallsInside(Idler.class.getName(), "idle")
                // The crossing: the core never waits for anybody.
                .allowBlockingCallsInside(Lane.class.getName(), "enter")
                // At its end a loop waits for threads that are just waking it.
                .allowBlockingCallsInside(TaskQueue.class.getName(), "end")
                // And for threads that are just reading what goes with it.
                .allowBlockingCallsInside(Lease.class.getName(), "moveOut")
                // Short, and never held while user code runs.
                .allowBlockingCallsInside(CoreGate.class.getName(), "with")
                .allowBlockingCallsInside(CoreGate.class.getName(), "get")
                .allowBlockingCallsInside(CoreGate.class.getName(), "alone")
                .allowBlockingCallsInside(CoreGate.class.getName(), "close"));
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
      Synchronizer fired = from.synchronizer(1);
      Mono.when(
              fired.next(),
              to.receive(0, 5),
              from.post(Op.send(1, 5, Payload.ofInt(5)).device(1)),
              from.post(Op.receive(1, 6, 8).completeTo(fired)),
              to.send(0, 6, Payload.ofInt(6)))
          .block(LIMIT);
      for (LciRuntime owner : job.ranks()) {
        MemoryRegion region = owner.allocate(64);
        RemoteMemory opened = from.remote(owner.rank(), region.handle());
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
    } // and closing does not, either: LciLeakCheck looks at uncaught errors
  }
}
