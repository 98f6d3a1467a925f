/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class KmerCountTest {
  @ParameterizedTest
  @CsvSource({
    "-k 0, -k must be 1 to 63",
    "-k 64, -k must be 1 to 63",
    "--threads 0, --threads must be 1 to",
    "--memory 0, --memory must be at least 1 MiB",
    "--temp /no/such/folder, there is no directory /no/such/folder",
    "--bloom-bits 64, --bloom-bits is for --two-pass",
    "--two-pass --bloom-bits -1, --bloom-bits must not be negative",
    "--two-pass --memory 9, --memory and --temp are not for --two-pass",
    "--two-pass --temp /tmp, --memory and --temp are not for --two-pass",
    "--histogram /, / is a directory",
    "--dump /no/such/folder/dump, there is no directory /no/such/folder"
  })
  void valuesThatCannotBeAreRefused(String arguments, String answer) {
    StringWriter said = new StringWriter();
    int code =
        new CommandLine(new KmerCount())
            .setErr(new PrintWriter(said))
            .execute((arguments + " reads.fq").split(" ", -1));
    assertThat(code).isEqualTo(2);
    assertThat(said.toString()).contains(answer);
  }
}
