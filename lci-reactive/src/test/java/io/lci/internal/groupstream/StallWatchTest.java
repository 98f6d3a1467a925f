/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.internal.DroppedErrors;
import io.lci.internal.UnstoppableTimer;
import io.lci.internal.UnstoppableTimer.Which;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The looks after streams that stand still. */
@ExtendWith(LciLeakCheck.class)
class StallWatchTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  @Test
  void aTimerThatCannotBeStoppedKeepsNoStreamFromItsEnd() {
    Throwable thrown = new AssertionError("broken");
    LciOptions options =
        LciOptions.builder()
            .timer(new UnstoppableTimer(thrown, Which.PERIODIC))
            .blockedWarning(Duration.ZERO)
            .build();
    try (DroppedErrors dropped = new DroppedErrors();
        LciTestJob job = LciTestJob.start(2, options)) {
      for (int round = 1; round <= 2; round++) {
        Mono.when(job.ranks().stream().map(StallWatchTest::shuffled).toList()).block(LIMIT);
        assertThat(dropped.all).hasSize(2 * round).containsOnly(thrown);
      }
    }
  }

  private static Mono<Void> shuffled(LciRuntime lci) {
    return lci.world().streams().shuffle(Flux.range(0, 10), n -> n % 2, Codec.INT).then();
  }
}
