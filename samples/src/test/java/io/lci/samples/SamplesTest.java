/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

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
}
