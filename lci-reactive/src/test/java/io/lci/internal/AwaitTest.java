/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.IdleStrategy;
import io.lci.LciOptions;
import io.lci.internal.runtime.RuntimeImpl;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Sinks;

/** A loop that is driven until a Mono ends. */
class AwaitTest {
  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder()
              .invoker(true)
              .closeTimeout(Duration.ZERO)
              .idle(IdleStrategy.parking())
              .build());

  @AfterEach
  void close() {
    runtime.close();
  }

  /** Else it would sleep on: nothing of the loop has moved. */
  @Test
  void aMonoThatEndsElsewhereWakesTheLoop() {
    Sinks.One<Integer> result = Sinks.one();
    core.whileParked =
        () -> {
          Thread elsewhere = new Thread(() -> result.tryEmitValue(7));
          elsewhere.start();
          try {
            elsewhere.join();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        };
    assertThat(runtime.loops.all.get(0).await(result.asMono(), Duration.ofMinutes(1))).isEqualTo(7);
    assertThat(core.wakes).hasPositiveValue();
  }
}
