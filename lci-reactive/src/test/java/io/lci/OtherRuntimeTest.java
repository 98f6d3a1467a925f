/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionTarget;
import io.lci.completion.QueueOptions;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;

/** What one runtime made is refused by another, at the caller: it may go with its own. */
@ExtendWith(LciLeakCheck.class)
class OtherRuntimeTest {
  private static final Port PORT = Port.of(9, "other runtime");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static void refuses(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("runtime");
  }

  @Test
  void buffersAreRefusedWhereverOperationsUseThem() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciBuffer foreign = job.rank(1).memory().buffer(1_000);
      LciBuffer own = lci.memory().buffer(1_000);
      MemoryRegion region = lci.memory().allocate(4_096);
      RemoteMemory memory = lci.memory().remote(0, region.handle());
      for (Payload payload : List.of(foreign, LciBuffer.list(own, foreign))) {
        refuses(() -> lci.post(Op.send(1, 7, payload)));
        refuses(() -> lci.post(Op.am(1, PORT, payload)));
        refuses(() -> lci.post(Op.put(memory, 0, payload)));
        refuses(() -> lci.tagged().send(1, 7, payload));
        refuses(() -> lci.sender(PORT).send(1, payload));
        refuses(() -> memory.put(0, payload));
        refuses(() -> memory.putWithSignal(0, payload, PORT, 1));
        refuses(() -> lci.completions().graph().op(Op.send(1, 7, payload)));
      }
      refuses(() -> lci.post(Op.receive(1, 7, foreign)));
      refuses(() -> lci.post(Op.receive(1, 7, LciBuffer.list(own, foreign))));
      refuses(() -> lci.post(Op.get(memory, 0, foreign)));
      refuses(() -> memory.get(0, foreign));
      refuses(() -> memory.getWithSignal(0, foreign, PORT, 1));
      refuses(() -> lci.completions().graph().op(Op.receive(1, 7, foreign)));
      memory.put(0, own).then(memory.get(0, own)).block(LIMIT);
      memory.dispose();
      region.dispose();
    }
  }

  /** Failure is data there, and what comes after it goes on. */
  @Test
  void bulkPostsFailTheElementAlone() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciBuffer foreign = job.rank(1).memory().buffer(1_000);
      LciBuffer own = lci.memory().buffer(1_000);
      var results =
          lci.post(
                  Flux.just(foreign, own),
                  payload -> Op.send(1, 7, payload),
                  PostOptions.defaults())
              .collectList()
              .block(LIMIT);
      assertThat(results).hasSize(2);
      assertThat(results)
          .filteredOn(result -> result.error() != null)
          .singleElement()
          .satisfies(
              result ->
                  assertThat(result.error())
                      .hasRootCauseInstanceOf(IllegalArgumentException.class));
      job.rank(1).tagged().receive(0, 7).block(LIMIT);
    }
  }

  @Test
  void regionsAreNotExchangedForAnother() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion foreign = job.rank(1).memory().allocate(4_096);
      refuses(() -> job.rank(0).memory().exchange(foreign));
      foreign.dispose();
    }
  }

  @Test
  void completionObjectsAreRefusedByOperationsAndPorts() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime other = job.rank(1);
      List<CompletionTarget> foreign =
          List.of(
              other.completions().queue(QueueOptions.defaults()),
              other.completions().counter(),
              other.completions().synchronizer(1));
      for (CompletionTarget target : foreign) {
        refuses(() -> lci.post(Op.send(1, 7, Payload.empty()).completeTo(target)));
        refuses(() -> lci.completions().bind(PORT, target));
      }
      CompletionGraph.SignalNode node = other.completions().graph().signal();
      refuses(() -> lci.post(Op.send(1, 7, Payload.empty()).completeTo(node)));
      Inbox inbox = other.inbox(PORT);
      refuses(() -> lci.post(Op.send(1, 7, Payload.empty()).completeTo(inbox)));
    }
  }
}
