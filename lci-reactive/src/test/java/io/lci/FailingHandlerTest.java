/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionHandler;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/**
 * A handler that fails at each message: the log says so, and does not drown. Without the leak
 * check, which takes failures of user code for failures of the test.
 */
class FailingHandlerTest {
  private static final Port PORT = Port.of(45, "fails");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 5_000;

  @Test
  void oneOfCompletionsIsCalledOn() {
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    PrintStream standardError = System.err;
    AtomicInteger calls = new AtomicInteger();
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      lci.inbox(PORT).handle(message -> {});
      System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
      CompletionHandler fails =
          completion -> {
            throw new IllegalStateException("end " + calls.getAndIncrement());
          };
      lci.post(
              Flux.range(0, COUNT),
              n -> Op.am(0, PORT, Payload.ofInt(n)).completeTo(fails),
              PostOptions.defaults())
          .blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_uncaught") == COUNT);
    } finally {
      System.setErr(standardError);
    }
    List<String> lines = log.toString(StandardCharsets.UTF_8).lines().toList();
    assertThat(lines)
        .filteredOn(line -> line.startsWith("java.lang.IllegalStateException: end"))
        .hasSizeLessThanOrEqualTo(10)
        .anyMatch(line -> line.endsWith("end 0"));
    assertThat(lines)
        .anyMatch(line -> line.contains("4096 completions") && line.contains("end 4095"));
  }

  @Test
  void itsStackTracesAreLimited() {
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    PrintStream standardError = System.err;
    AtomicInteger calls = new AtomicInteger();
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      lci.inbox(PORT)
          .handle(
              message -> {
                throw new IllegalStateException("order " + calls.getAndIncrement());
              });
      System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
      lci.sender(PORT).sendAll(0, Flux.range(0, COUNT), (n, out) -> out.putInt(n)).block(LIMIT);
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_uncaught") == COUNT);
    } finally {
      System.setErr(standardError);
    }
    List<String> lines = log.toString(StandardCharsets.UTF_8).lines().toList();
    assertThat(lines).filteredOn(line -> line.startsWith("\tat ")).isNotEmpty();
    assertThat(lines)
        .filteredOn(line -> line.startsWith("java.lang.IllegalStateException: order"))
        .hasSizeLessThanOrEqualTo(10)
        .anyMatch(line -> line.endsWith("order 0"));
    assertThat(lines)
        .anyMatch(line -> line.contains("4096 messages") && line.contains("order 4095"));
  }
}
