/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.lci.CoreInfo;
import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Synchronizer;
import io.lci.internal.core.CoreLog;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.internal.runtime.Runtimes;
import io.lci.nativebridge.Codes;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.slf4j.Logger;

/** What a program that waits for ever leaves in the log, under the name of the public class. */
@ExtendWith(LciLeakCheck.class)
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
    return lines(level, "io.lci.LciRuntime");
  }

  private List<String> lines(String level, String logger) {
    return log.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.contains(' ' + level + ' ' + logger + " - "))
        .toList();
  }

  private void turnUntilThereAre(int count, String level) {
    await()
        .atMost(LIMIT)
        .pollInSameThread()
        .until(() -> runtime.loops.all.get(0).poll() >= 0 && lines(level).size() >= count);
  }

  /** One name switches this library on or off, and one its core. */
  @Test
  void nothingIsLoggedUnderTheNameOfAnInternalClass() {
    Set<String> names =
        new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages("io.lci")
                .stream()
                .flatMap(owner -> owner.getFields().stream())
                .filter(field -> field.getRawType().isEquivalentTo(Logger.class))
                .map(LogTest::loggerName)
                .collect(Collectors.toSet());
    assertThat(names).containsExactlyInAnyOrder("io.lci.LciRuntime", CoreLog.NAME);
  }

  private static String loggerName(JavaField field) {
    try {
      Field reflected = field.reflect();
      reflected.setAccessible(true);
      return ((Logger) reflected.get(null)).getName();
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
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
        .contains("not open there", "asks for nothing", "docs/guide/backpressure.md");
  }

  @Test
  void aStallForAnotherReasonDoesNotGuess() {
    core.script = submitted -> Codes.RETRY_NOMEM;
    runtime.tagged().send(2, 7, Payload.ofLong(1)).subscribe(v -> {}, e -> {});
    turnUntilThereAre(1, "WARN");
    assertThat(lines("WARN"))
        .singleElement()
        .asString()
        .contains("send", "rank 2", "engine 0", "retry_nomem", "docs/guide/backpressure.md")
        .doesNotContain("not open there");
  }

  /** What a poster's operation signals hears its end, the failures as well; else somebody must. */
  @Test
  void aFailureIsALineOnlyIfNobodyElseHearsOfIt() {
    runtime.loops.all.get(0).poll();
    core.script = submitted -> Codes.POSTED;
    Synchronizer heard = runtime.completions().synchronizer(1);
    runtime.loops.all.get(0).poster().tryPost(Op.barrier().completeTo(heard));
    core.ended(1, Codes.ERR_PEER_FAILED, 2);
    for (int i = 0; i < 4; i++) {
      runtime.loops.all.get(0).poll();
    }
    assertThat(lines("WARN")).isEmpty();

    runtime.loops.all.get(0).poster().tryPost(Op.barrier());
    core.ended(1L << 32 | 1, Codes.ERR_PEER_FAILED, 2);
    turnUntilThereAre(1, "WARN");
    assertThat(lines("WARN"))
        .singleElement()
        .asString()
        .contains("barrier", "failed and nobody listens");
  }

  @Test
  void callsThatCouldBeFasterAreALine() {
    CoreInfo core = new CoreInfo("1.2.3", "there", "jna", "repacked");
    Runtimes.tell(core, false);
    assertThat(lines("INFO")).isEmpty();
    Runtimes.tell(core, true);
    assertThat(lines("INFO"))
        .singleElement()
        .asString()
        .endsWith("native core 1.2.3 from there, called by jna: repacked");
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
    runtime.loops.all.get(0).poll();
    assertThat(lines("INFO")).as("nobody waits for a message").isEmpty();

    runtime.inbox(ORDERS).receive().subscribe(v -> {}, e -> {});
    core.left(2);
    turnUntilThereAre(1, "INFO");
    assertThat(lines("INFO")).singleElement().asString().contains("rank 2 left", "orders(5)");
  }

  /** The core calls nobody: its lines are taken, each at its level, and those of its end too. */
  // Proves: M5
  @Test
  void theCoresLinesGoToTheirLogger() {
    core.log.add(Map.entry(Codes.LOG_ERROR, "a peer is mad"));
    core.log.add(Map.entry(Codes.LOG_STATUS, "all have come"));
    await()
        .atMost(LIMIT)
        .pollInSameThread()
        .until(() -> runtime.loops.all.get(0).poll() >= 0 && core.log.isEmpty());
    assertThat(lines("ERROR", CoreLog.NAME)).singleElement().asString().endsWith("a peer is mad");
    assertThat(lines("INFO", CoreLog.NAME)).singleElement().asString().endsWith("all have come");

    core.log.add(Map.entry(Codes.LOG_WARN, "nobody took this yet"));
    core.lastWords.add(Map.entry(Codes.LOG_WARN, "3 packets were not given back"));
    runtime.close();
    assertThat(lines("WARN", CoreLog.NAME))
        .satisfiesExactly(
            first -> assertThat(first).endsWith("nobody took this yet"),
            second -> assertThat(second).endsWith("3 packets were not given back"));
  }

  /** The same with the real core, whose own lines no longer go to the standard error. */
  // Proves: M5
  // On: inproc
  @Test
  void aRealCoresLinesGoThereToo() {
    LciOptions talkative = LciOptions.builder().attribute("log_level", "info").build();
    try (LciTestJob job = LciTestJob.start(2, talkative)) {
      assertThat(job.rank(0).options().attributes())
          .containsEntry("log_outfile", "none")
          .containsEntry("log_keep", "1024");
    }
    assertThat(lines("INFO", CoreLog.NAME))
        .filteredOn(line -> line.contains("has joined"))
        .hasSize(2)
        .anyMatch(line -> line.contains("- 0:") && line.contains("rank 0 of 2"))
        .anyMatch(line -> line.contains("- 1:") && line.contains("rank 1 of 2"));
    assertThat(log.toString(StandardCharsets.UTF_8).lines())
        .filteredOn(line -> line.contains("has joined"))
        .as("once each")
        .hasSize(2);
  }
}
