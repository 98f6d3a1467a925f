/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** The command line of the samples, as the launcher starts it. */
class SamplesTest {
  private static String output(String rank, String... arguments)
      throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Samples.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("LCI_RANK", rank);
    Process process = builder.start();
    String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    process.waitFor();
    return output;
  }

  /** {@code ./lci run NAME} knows every sample that there is. */
  @Test
  void theToolKnowsThemAll() throws IOException {
    String tool =
        Files.readString(
            Path.of(System.getProperty("lci.native.source"))
                .resolveSibling("scripts/lci/shared/programs.sh"));
    String table = tool.substring(tool.indexOf("\nreadonly SAMPLES='"));
    List<String> known =
        table.substring(0, table.indexOf("\n'")).lines().map(line -> line.split(" ")[0]).toList();
    assertThat(known).containsAll(Samples.samples().getSubcommands().keySet());
  }

  /** Each has the name by which it is looked up. */
  @Test
  void oneIsReadAloneWhereItIsNamed() {
    Map<String, CommandLine> all = Samples.samples("--help").getSubcommands();
    assertThat(all).hasSizeGreaterThan(15).containsKeys("tour", "kv-service");
    all.forEach(
        (name, command) -> {
          assertThat(command.getCommandSpec().name()).isEqualTo(name);
          assertThat(Samples.samples(name, "--help").getSubcommands()).containsKey(name);
        });
    assertThat(Samples.samples("kmer").getSubcommands()).doesNotContainKey("heat");
  }

  @Test
  void helpSaysWhatIsTyped() throws Exception {
    assertThat(output("0", "kmer", "--help")).startsWith("Usage: ./lci run -n N kmer ");
    assertThat(output("0", "--help")).startsWith("Usage: ./lci run -n N ");
  }

  @Test
  void onlyOneRankPrintsIt() throws Exception {
    assertThat(output("1", "kmer", "--help")).isEmpty();
  }

  @Test
  void wrongArgumentsAreAnsweredWithThatCommand() throws Exception {
    assertThat(output("0", "kmer", "--no-such-option", "reads.fa"))
        .contains("kmer: ", "no-such-option", "(see ./lci run -n N kmer --help)");
  }

  @ParameterizedTest
  @CsvSource({
    "ping-pong,--rounds,0,--rounds must be at least 1",
    "ping-pong,--threads,0,--threads must be 1 to",
    "many-to-many,--window,0,--window must be 1 to",
    "many-to-many,--words,70000,--words must be 1 to",
    "many-to-many,--messages,-1,--messages must not be negative",
    "array,--length,0,--length must be at least 1",
    "array,--memory,borrowed,--memory",
    "graph-barrier,--runs,0,--runs must be at least 1",
    "metrics,--port,70000,--port must be 0 to 65535",
    "metrics,--seconds,-1,--seconds must not be negative",
    "rpc-echo,--window,1000,--window must be 1 to"
  })
  void valuesThatCannotBeAreRefused(String sample, String option, String value, String answer)
      throws Exception {
    assertThat(output("0", sample, option, value))
        .startsWith(sample + ": ")
        .contains(answer, "(see ./lci run -n N " + sample + " --help)")
        .doesNotContain("\n");
  }
}
