/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.LciSnapshot;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** The checks that make other tests fail do so. */
class LciLeakCheckTest {
  private static final Port PORT = Port.of(3, "leaks");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** What the check says of a test that does this. */
  private static String faultsOf(Runnable test) {
    LciLeakCheck check = new LciLeakCheck();
    check.beforeEach(null); // it does not look at the context
    test.run();
    AtomicReference<String> text = new AtomicReference<>();
    assertThatThrownBy(() -> check.afterEach(null))
        .isInstanceOf(AssertionError.class)
        .satisfies(e -> text.set(e.getMessage()));
    return text.get();
  }

  @Test
  void aTestThatLeavesNothingPasses() {
    LciLeakCheck check = new LciLeakCheck();
    check.beforeEach(null);
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(0).barrier().and(job.rank(1).barrier()).block(LIMIT);
    }
    check.afterEach(null);
  }

  @Test
  void aDroppedErrorFailsATest() {
    Throwable lost = new IllegalStateException("lost");
    assertThat(faultsOf(() -> Operators.onErrorDropped(lost, Context.empty())))
        .contains("dropped error", "lost");
  }

  @Test
  void aDroppedElementFailsATest() {
    assertThat(faultsOf(() -> Operators.onNextDropped("element 7", Context.empty())))
        .contains("dropped element", "element 7");
  }

  @Test
  void aJobThatIsLeftOpenFailsATestAndIsClosed() {
    AtomicReference<LciTestJob> left = new AtomicReference<>();
    assertThat(faultsOf(() -> left.set(LciTestJob.start(1)))).contains("was not closed");
    assertThat(left.get().rank(0).isDisposed()).isTrue();
  }

  @Test
  void aMessageThatIsNotReleasedFailsATest() {
    AtomicReference<RetainedMessage> held = new AtomicReference<>();
    String faults =
        faultsOf(
            () -> {
              try (LciTestJob job = LciTestJob.start(1)) {
                job.rank(0).inbox(PORT).receiveRetained().subscribe(held::set, closed -> {});
                job.rank(0).sender(PORT).send(0, Payload.ofLong(1)).block(LIMIT);
                await().atMost(LIMIT).until(() -> held.get() != null);
              }
            });
    assertThat(faults).contains("rank 0: loop_leased = 1");
    held.get().release();
  }

  /** Each ledger by itself, with what is wrong with it. */
  @ParameterizedTest
  @CsvSource({
    "loop_parked, loop_parked = 1",
    "loop_uncaught, loop_uncaught = 1",
    "loop_leased, loop_leased = 1",
    "late_wakes, late_wakes = 1",
    "protocol_errors, protocol_errors = 1",
    "link_violations, link_violations = 1",
    "sends_pending, sends_pending = 1",
    "receives_pending, receives_pending = 1",
    "backlog_depth, backlog_depth = 1",
    "operations_am_posted, '1 operations were posted, but 0 have ended'",
    "signals, '0 operations were posted, but 1 have ended'",
    "exchanges_opened, '1 exchanges were opened, but 0 have ended'",
    "packets_get, 'packets got - put = 1, but 0 are on their way'",
    "packets_out, 'packets got - put = 0, but 1 are on their way'"
  })
  void everyLedgerIsLookedAt(String counter, String fault) {
    assertThat(LciLeakCheck.faultsOf("rank 5", snapshot(Map.of()))).isEmpty();
    assertThat(LciLeakCheck.faultsOf("rank 5", snapshot(Map.of(counter, 1L))))
        .containsExactly("rank 5: " + fault);
  }

  /**
   * One that waits for its port lies in a packet of its sender, where not in one of its receiver.
   */
  @Test
  void aMessageThatWaitsForItsPortIsNoLeak() {
    assertThat(
            LciLeakCheck.faultsOf(
                "rank 5", snapshot(Map.of("sends_pending", 2L, "packets_get", 2L))))
        .isEmpty();
    assertThat(
            LciLeakCheck.faultsOf(
                "rank 5", snapshot(Map.of("sends_pending", 2L, "packets_get", 1L))))
        .hasSize(2);
  }

  /** Of which those that are not named are 0. */
  private static LciSnapshot snapshot(Map<String, Long> named) {
    Map<String, Long> counters = new HashMap<>();
    for (String name :
        List.of(
            "loop_parked",
            "loop_uncaught",
            "loop_leased",
            "late_wakes",
            "protocol_errors",
            "link_violations",
            "sends_pending",
            "receives_pending",
            "backlog_depth",
            "operations_am_posted",
            "signals",
            "signals_dropped",
            "exchanges_opened",
            "exchanges_ended",
            "packets_get",
            "packets_put",
            "packets_out")) {
      counters.put(name, named.getOrDefault(name, 0L));
    }
    return new LciSnapshot(counters, List.of(), List.of(), List.of(), 0, 0);
  }

  /** Tests without an extension of their own are watched, too. */
  @Test
  void everyTestOfThisClassPathIsWatched() {
    assertThat(ServiceLoader.load(Extension.class))
        .hasAtLeastOneElementOfType(DroppedSignals.class);
    Operators.onNextDropped("unasked", Context.empty());
    assertThat(DroppedSignals.unwatch()).singleElement().asString().contains("unasked");
    DroppedSignals.watch(); // for the one that watches this test
  }
}
