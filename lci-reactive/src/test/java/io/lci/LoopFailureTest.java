/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Counter;
import io.lci.error.LciClosedException;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/**
 * A loop that user code ends by what is fatal to a JVM. Without the leak check: nothing is whole
 * then.
 */
class LoopFailureTest {
  private static final Port PORT = Port.of(71, "fatal");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Whoever waits hears of it, also behind a subscriber who throws again when he does. */
  @Test
  void aFatalErrorEndsTheRuntimeAndEverybodyIsTold() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime lci = job.rank(0);
    Error first = new InternalError("from a decoder");
    Counter never = lci.counter();
    never.reaches(1).subscribe(n -> {}, closed -> throwAgain());
    Mono<Long> last = never.reaches(1).cache();
    last.subscribe(n -> {}, closed -> {});
    lci.inbox(PORT)
        .receive(
            m -> {
              throw first;
            })
        .subscribe(n -> {}, closed -> {});
    lci.sender(PORT).send(0, Payload.ofInt(1)).subscribe(none -> {}, closed -> {});
    assertThatThrownBy(() -> last.block(LIMIT)).isInstanceOf(LciClosedException.class);
    assertThatThrownBy(() -> lci.onClose().block(LIMIT)).isSameAs(first);
    assertThatThrownBy(lci::close).isSameAs(first);
    assertThat(lci.isDisposed()).isTrue();
  }

  private static void throwAgain() {
    throw new InternalError("from a subscriber");
  }
}
