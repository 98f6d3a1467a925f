/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.nativebridge.Codes;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a program that waits for ever leaves in the log, under the name of the public class. */
class LogTest {
  private static final Port ORDERS = Port.of(5, "orders");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder()
              .invoker(true)
              .closeTimeout(Duration.ZERO)
              .stallWarning(Duration.ofMillis(1))
              .build());
  private final ByteArrayOutputStream log = new ByteArrayOutputStream();
  private final PrintStream standardError = System.err;

  @BeforeEach
  void capture() {
    System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
  }

  @AfterEach
  void close() {
    System.setErr(standardError);
    runtime.close();
  }

  private List<String> lines(String level) {
    return log.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.contains(level + " io.lci.LciRuntime - "))
        .toList();
  }

  private void turnUntilThereAre(int count, String level) {
    await()
        .atMost(LIMIT)
        .pollInSameThread()
        .until(() -> runtime.loop(0).poll() >= 0 && lines(level).size() >= count);
  }

  @Test
  void aStallNamesThePortAndWhatItMayMean() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    runtime.post(Op.am(2, ORDERS, Payload.ofLong(1))).subscribe(v -> {}, e -> {});
    turnUntilThereAre(1, "WARN");
    assertThat(lines("WARN"))
        .singleElement()
        .asString()
        .contains("rank 2", "orders(5)", "1 operation", "retry_nocredit")
        .contains("not open there", "asks for nothing", "docs/backpressure.md");
  }

  @Test
  void aStallForAnotherReasonDoesNotGuess() {
    core.script = submitted -> Codes.RETRY_NOMEM;
    runtime.send(2, 7, Payload.ofLong(1)).subscribe(v -> {}, e -> {});
    turnUntilThereAre(1, "WARN");
    assertThat(lines("WARN"))
        .singleElement()
        .asString()
        .contains("send", "rank 2", "engine 0", "retry_nomem", "docs/backpressure.md")
        .doesNotContain("not open there");
  }

  @Test
  void aDeathIsALine() {
    core.died(2);
    turnUntilThereAre(1, "WARN");
    assertThat(lines("WARN")).singleElement().asString().contains("rank 2 died");
  }

  @Test
  void aDepartureIsALineIfSomebodyWaitsForMessages() {
    core.left(1);
    runtime.loop(0).poll();
    assertThat(lines("INFO")).as("nobody waits for a message").isEmpty();

    runtime.inbox(ORDERS).receive().subscribe(v -> {}, e -> {});
    core.left(2);
    turnUntilThereAre(1, "INFO");
    assertThat(lines("INFO")).singleElement().asString().contains("rank 2 left", "orders(5)");
  }
}
