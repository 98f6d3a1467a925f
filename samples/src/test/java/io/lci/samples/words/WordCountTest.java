/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.words;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The counts are those of {@code tr}, {@code sort} and {@code uniq}. */
@ExtendWith(LciLeakCheck.class)
class WordCountTest {
  @TempDir Path folder;

  private String counted(Path text, int ranks, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<Map<String, Long>> counts = EachRank.run(job, lci -> WordCount.run(lci, text));
      assertThat(counts).hasSize(1);
      StringWriter out = new StringWriter();
      WordCount.print(counts.get(0), new PrintWriter(out));
      return out.toString();
    }
  }

  private static String reference(Path text) throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(
            "sh", "-c", "tr -cs 'A-Za-z' '\\n' < \"$0\" | sort | uniq -c", text + "");
    builder.environment().put("LC_ALL", "C");
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  /** Words of few letters, so that many are equal; bytes that are no text; lines of any length. */
  private Path generated(int bytes) throws IOException {
    byte[] text = new byte[bytes];
    Random random = new Random(7);
    String letters = "aAbBcxyz     ,.\n\n\u00e9";
    for (int i = 0; i < bytes; i++) {
      text[i] = (byte) letters.charAt(random.nextInt(letters.length()));
    }
    return Files.write(folder.resolve("text"), text);
  }

  @ParameterizedTest(name = "{0} ranks, chaos {1}")
  @CsvSource({"1,false", "2,false", "3,false", "4,false", "3,true"})
  void theCountsAreThoseOfTheTools(int ranks, boolean chaos) throws Exception {
    Path text = generated(chaos ? 20_000 : 300_000);
    assertThat(counted(text, ranks, chaos)).isEqualTo(reference(text)).isNotEmpty();
  }

  /** However they are cut: at their beginning, at their end, where there is nothing to cut. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\n",
        "word",
        "one\n",
        "one\ntwo\nthree\nfour\n",
        "a\nb",
        " begins with a space",
        "\n\n\nempty lines\n\n\n",
        "one very long line of words, the only one in this text, for four ranks",
        "x\ny\nz\nx\ny\nz\nx\ny\nz\n",
        "12 3 4\n5"
      })
  void shortTextsAreCutRight(String content) throws Exception {
    Path text = Files.writeString(folder.resolve("short"), content);
    for (int ranks = 1; ranks <= 4; ranks++) {
      assertThat(counted(text, ranks, false)).as("%d ranks", ranks).isEqualTo(reference(text));
    }
  }

  @Test
  void aTextThatCannotBeReadEndsAllRanks() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Path missing = folder.resolve("missing");
      assertThatThrownBy(() -> EachRank.run(job, lci -> WordCount.run(lci, missing)))
          .hasMessageContaining("missing");
    }
  }
}
