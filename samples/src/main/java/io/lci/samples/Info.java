/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.CoreInfo;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import reactor.core.publisher.Mono;

/**
 * The Java half of {@code ./lci info}: which JVM, which options are in effect, which threads a
 * runtime has.
 */
@Command(
    name = "info",
    mixinStandardHelpOptions = true,
    description = "Starts a runtime of one rank and says what it is made of.")
public final class Info implements Callable<Integer> {
  private static final Path THREADS = Path.of("/proc/self/task");
  private static final String LOOP = "lci-loop";

  /** A comma that is in no brackets, and as much as a line has room for. */
  private static final Pattern OPTION_END = Pattern.compile(", (?![^\\[{]*[]}])");

  private static final Pattern WIDE = Pattern.compile("(.{60,90}, )");

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new Info(), args);
  }

  @Override
  public Integer call() throws IOException {
    Map<String, String> before = threads();
    try (LciRuntime lci = LciRuntime.create()) {
      List<String> loops = new ArrayList<>();
      List<String> others = new ArrayList<>();
      if (!lci.options().invoker()) { // A thread has its name once it has run.
        lci.loops()
            .forEach(loop -> Mono.fromRunnable(() -> {}).subscribeOn(loop.scheduler()).block());
      }
      Map<String, String> after = threads();
      after.keySet().removeAll(before.keySet());
      after.values().forEach(name -> (name.startsWith(LOOP) ? loops : others).add(name));
      CoreInfo core = LciRuntime.coreInfo();
      print("java", Runtime.version().toString());
      print("native core", core.version() + ", " + core.source());
      print("called by", core.calls() + ": " + core.callsReason());
      print("rank and size", lci.rank() + " of " + lci.size());
      printOptions(lci.options());
      print("loops", lci.loops().size() + ": " + String.join(", ", loops));
      print("other new threads", others.isEmpty() ? "none" : String.join(", ", others));
      print(
          "packets", lci.snapshot().packetsFree() + " free of " + lci.snapshot().packetsCapacity());
    }
    return 0;
  }

  /** Its text with an option in each line, and the attributes in lines that can be read. */
  private static void printOptions(LciOptions options) {
    String key = "options";
    for (String option : OPTION_END.split(options.toString().replaceAll("^LciOptions\\[|]$", ""))) {
      for (String line : WIDE.matcher(option).replaceAll("$1\n    ").split("\n")) {
        print(key, line);
        key = "";
      }
    }
  }

  private static void print(String key, String value) {
    System.out.printf("%-24s %s%n", key, value);
  }

  /** Names of this process's threads by number, those that no JVM knows of included. */
  private static Map<String, String> threads() throws IOException {
    Map<String, String> names = new TreeMap<>();
    try (Stream<Path> tasks = Files.list(THREADS)) {
      for (Path task : tasks.toList()) {
        try {
          names.put(task.getFileName().toString(), Files.readString(task.resolve("comm")).strip());
        } catch (java.nio.file.NoSuchFileException e) {
          continue; // It ended meanwhile.
        }
      }
    }
    return names;
  }
}
