/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.internal.loop.LoopTime;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Where a loop's time goes; the test is the clock. */
class LoopTimeTest {
  private final LoopTime time = new LoopTime();

  private Map<String, Long> counted() {
    Map<String, Long> into = new HashMap<>();
    time.count(into);
    return into;
  }

  private void expect(long busy, long polling, long parked) {
    assertThat(counted())
        .containsEntry("loop_nanos_busy", busy)
        .containsEntry("loop_nanos_polling", polling)
        .containsEntry("loop_nanos_parked", parked);
  }

  @Test
  void aTurnLastsUntilTheNextOneBegins() {
    time.turn(1_000);
    time.found(3);
    expect(0, 0, 0);
    time.turn(1_400);
    time.found(0);
    expect(400, 0, 0);
    time.turn(1_500);
    expect(400, 100, 0);
  }

  @Test
  void sleepIsNoPartOfTheTurnBefore() {
    time.turn(1_000);
    time.found(0);
    time.slept(1_100, 6_100);
    time.turn(6_150); // between waking and the turn nothing is counted
    expect(0, 100, 5_000);
    time.found(1);
    time.turn(6_250);
    expect(100, 100, 5_000);
  }

  @Test
  void whatADriverDoesBetweenPollsIsNotTheLoops() {
    time.turn(1_000);
    time.found(1);
    time.end(1_300);
    time.turn(900_000);
    time.found(0);
    time.forget();
    time.turn(2_000_000);
    expect(300, 0, 0);
  }

  @Test
  void aTurnThatThrowsWasBusy() {
    time.turn(1_000);
    time.turn(1_700);
    expect(700, 0, 0);
  }
}
