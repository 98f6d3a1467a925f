/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Joins measured values to a table of ours against peers. */
@Command(
    name = "bench-table",
    mixinStandardHelpOptions = true,
    description = {
      "Reads lines of PAIR<TAB>SIDE<TAB>NAME<TAB>METRIC<TAB>UNIT<TAB>VALUE from standard input, SIDE being ours,",
      "peer or line (round trip of a cache line, in ns), and prints a table: medians, and the median of the ratios",
      "of the single pairs."
    })
public final class BenchTable implements Callable<Integer> {
  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Also write the lines as JSON, one object a line.")
  @Nullable Path json;

  /**
   * Runs the command.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(new CommandLine(new BenchTable()).execute(arguments));
  }

  @Override
  public Integer call() throws IOException {
    List<Comparison> lines;
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      lines = Comparison.of(in.lines().filter(line -> !line.isBlank()).map(Sample::parse).toList());
    }
    if (lines.isEmpty()) {
      System.err.println("bench-table: nothing of ours was measured");
      return 1;
    }
    print(lines, System.out);
    if (json != null) {
      Files.write(json, lines.stream().map(Comparison::toJson).toList());
    }
    return 0;
  }

  static void print(List<Comparison> lines, PrintStream out) {
    String row = "| %-22s | %-8s | %10s | %10s | %-16s | %6s | %4s | %7s |%n";
    out.printf(
        Locale.ROOT,
        row,
        "metric",
        "unit",
        "ours",
        "peer",
        "peer's name",
        "ratio",
        "runs",
        "line ns");
    out.println("|---|---|---|---|---|---|---|---|");
    for (Comparison line : lines) {
      out.printf(
          Locale.ROOT,
          row,
          line.metric(),
          line.unit() + (line.lowerIsBetter() ? " ↓" : ""),
          number(line.ours()),
          number(line.peer()),
          line.peerName() == null ? "" : line.peerName(),
          number(line.ratio()),
          line.runs(),
          number(line.lineNanos()));
    }
    out.println();
    out.println("ratio: ours / peer, median of the single pairs; ↓: lower is better");
    out.println(
        "line: round trip of a cache line between the two processors in the same runs, median");
  }

  private static String number(@Nullable Double value) {
    if (value == null) {
      return "";
    }
    double magnitude = Math.abs(value);
    String format = magnitude >= 100 ? "%.0f" : magnitude >= 10 ? "%.1f" : "%.2f";
    return String.format(Locale.ROOT, format, value);
  }
}
