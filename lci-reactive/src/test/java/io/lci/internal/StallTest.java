/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The warning about a key that takes nothing, at times that the test makes up. */
class StallTest {
  private static final Port PORT = Port.of(6, "stalls");
  private static final long LIMIT = Duration.ofSeconds(5).toNanos();

  /** What an observer was told. */
  private record Told(int rank, int port, PostOutcome reason, int waiting, boolean longEnough) {}

  private final List<Told> told = new ArrayList<>();

  /** By rank: how many operations it still takes. */
  private final int[] credit = new int[3];

  private final ScriptedCore core = new ScriptedCore();

  /** It does not look by itself. */
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder()
              .invoker(true)
              .closeTimeout(Duration.ZERO)
              .stallWarning(Duration.ZERO)
              .instrumentation(
                  new LciInstrumentation() {
                    @Override
                    public void stalled(
                        int rank, int port, PostOutcome reason, int waiting, Duration stalled) {
                      boolean longEnough = stalled.toNanos() >= LIMIT;
                      told.add(new Told(rank, port, reason, waiting, longEnough));
                    }
                  })
              .build());

  @AfterEach
  void close() {
    runtime.close();
  }

  /** Posts, and lets the loop try; returns the loop's time after that. */
  private long post(int rank, int count) {
    for (int n = 0; n < count; n++) {
      runtime.post(Op.am(rank, PORT, Payload.ofLong(n))).subscribe(c -> {}, e -> {});
    }
    return turn();
  }

  private long turn() {
    for (int i = 0; i < 3; i++) {
      runtime.loops.all.get(0).poll();
    }
    return runtime.loops.all.get(0).now();
  }

  /** The loop looks when that much time has passed since another moment. */
  private void lookAfter(long since, long nanos) {
    runtime.loops.outboxes.get(0).reportStalls(since + nanos, LIMIT);
  }

  private static Told told(int rank, int waiting) {
    return new Told(rank, PORT.number(), PostOutcome.RETRY_NOCREDIT, waiting, true);
  }

  @Test
  void eachKeyIsToldOncePerStall() {
    core.script = submitted -> credit[submitted.rank()]-- > 0 ? Codes.DONE : Codes.RETRY_NOCREDIT;
    long before = turn();
    post(1, 3);
    long parked = post(2, 1);
    lookAfter(before, LIMIT - 1);
    assertThat(told).as("too early").isEmpty();
    lookAfter(parked, LIMIT);
    assertThat(told).containsExactlyInAnyOrder(told(1, 3), told(2, 1));

    told.clear();
    for (int looks = 2; looks < 100; looks++) {
      lookAfter(parked, looks * LIMIT);
    }
    assertThat(told).as("still the same stall").isEmpty();
    parked = post(1, 2);
    lookAfter(parked, 100 * LIMIT);
    assertThat(told).as("more waits, but nothing has moved").isEmpty();

    // One is taken, then no more: another stall of that key alone
    credit[1] = 1;
    core.writable(1, PORT.number(), 1);
    long moved = turn();
    assertThat(runtime.loops.outboxes.get(0).parkedCount())
        .as("4 to rank 1, 1 to rank 2")
        .isEqualTo(5);
    lookAfter(moved, LIMIT);
    assertThat(told).containsExactly(told(1, 4));
    told.clear();
    lookAfter(moved, 100 * LIMIT);
    assertThat(told).isEmpty();

    // All are taken; those that wait later are new
    credit[2] = 1;
    core.writable(2, PORT.number(), 1);
    turn();
    moved = post(2, 1);
    lookAfter(moved, LIMIT);
    assertThat(told).containsExactly(told(2, 1));
  }
}
