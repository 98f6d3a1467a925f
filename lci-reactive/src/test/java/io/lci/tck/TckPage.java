/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** docs/internals/tck.md: which rules were held against what. */
final class TckPage {
  private static final Path PATH =
      Path.of(System.getProperty("lci.native.source", "../native"))
          .resolveSibling("docs/internals/tck.md");

  private static final String HEAD =
      """
      # The rules of Reactive Streams

      Made by `TckTest` with `-Dtck.write=true`; else that test fails if this page is not what was run.

      The TCK of Reactive Streams 1.0.4 for every publisher of the library as its own class, with no operator between,
      and for what bulk operators, streams and calls are to the publishers that they are given; over ranks in one process
      (*inproc*), and the same while messages are delayed, reordered and refused (*chaos*, with three seeds that must hold
      the same rules; the figures are of each). A publisher that does not end by itself is run a second time
      behind `take(n)`, which does, and counted apart. The rules that the TCK itself cannot verify (`untested_`) are not
      counted. A rule is skipped only where it cannot apply, by a list that is fixed in the test:

      - *unicast*: the rule asks for several subscribers, and there is one at a time; or it compares what they got, and each
        has messages of its own
      - *no end*: the rule asks for completion
      - *too few elements*: a Mono has at most one, a `Mono<Void>` none, and each of three peers leaves once
      - *no failed state*: the publisher cannot be made to fail at once
      """;

  /** Section, row, setting: what came out. */
  private final Map<String, Map<String, Map<String, String>>> sections = new LinkedHashMap<>();

  private int passed;
  private int faults;

  void add(String section, String row, String setting, Rules rules) {
    passed += rules.passed;
    faults += rules.faults.size();
    String skips = rules.skips();
    String text = rules.passed + (skips.isEmpty() ? "" : "; skipped " + skips);
    String before =
        sections
            .computeIfAbsent(section, name -> new LinkedHashMap<>())
            .computeIfAbsent(row, name -> new LinkedHashMap<>())
            .putIfAbsent(setting, text);
    assertThat(before == null ? text : before).as("every seed of %s", row).isEqualTo(text);
  }

  void print(PrintStream out) {
    out.println("TCK: " + passed + " rules held, " + faults + " broken");
    sections.forEach(
        (section, rows) ->
            rows.forEach(
                (row, settings) ->
                    settings.forEach(
                        (setting, text) -> out.println(row + " " + setting + ": " + text))));
  }

  void writeOrCheck() throws IOException {
    assertThat(faults).as("broken rules").isZero();
    if (Boolean.getBoolean("tck.write")) {
      Files.writeString(PATH, text());
    } else {
      assertThat(Files.readString(PATH))
          .as("docs/internals/tck.md; -Dtck.write=true makes it")
          .isEqualTo(text());
    }
  }

  private String text() {
    StringBuilder text = new StringBuilder(HEAD);
    sections.forEach(
        (section, rows) -> {
          text.append("\n## ").append(section).append("\n\n| | inproc | chaos |\n|---|---|---|\n");
          rows.forEach(
              (row, settings) ->
                  text.append("| `")
                      .append(row)
                      .append("` | ")
                      .append(settings.getOrDefault("inproc", "-"))
                      .append(" | ")
                      .append(settings.getOrDefault("chaos", "-"))
                      .append(" |\n"));
        });
    return text.append("\nIn all ")
        .append(passed)
        .append(" rules held, those of each seed counted.\n")
        .toString();
  }
}
