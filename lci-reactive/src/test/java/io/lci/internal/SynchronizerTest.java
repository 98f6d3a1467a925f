/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.internal.completion.SynchronizerImpl;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** What the core records of synchronizers. */
class SynchronizerTest {
  private final Operations operations = new Operations();

  @AfterEach
  void close() {
    operations.close();
  }

  /** Another loop may signal it at once, and this one is in the midst of a turn. */
  @Test
  void oneIsKnownFromTheMomentItIsMade() {
    AtomicInteger firings = new AtomicInteger();
    operations.turns(1);
    Flux<Integer> inTheTurnBeforeItEnters =
        Flux.range(0, 1)
            .doOnNext(
                n -> {
                  SynchronizerImpl made =
                      (SynchronizerImpl) operations.runtime.completions().synchronizer(1);
                  made.next().subscribe(list -> firings.incrementAndGet());
                  operations.core.fired(made.id());
                });
    operations
        .runtime
        .sender(Operations.PORT)
        .sendAll(1, inTheTurnBeforeItEnters, (n, out) -> out.putInt(n))
        .subscribe();
    operations.turns(1);
    assertThat(operations.core.submitted()).hasSize(1);
    operations.turns(2);
    assertThat(firings).hasValue(1);
  }
}
