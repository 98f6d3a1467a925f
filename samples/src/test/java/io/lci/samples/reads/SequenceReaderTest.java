/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class SequenceReaderTest {
  @TempDir Path folder;

  @Test
  void readsFastaOfAnyLineLengthAndLineEnd() throws IOException {
    assertThat(read(">a\nACGT\nacgt\n>b some ACGT\nTT\n", 1)).containsExactly("ACGTACGT", "TT");
    assertThat(read(">a\r\nACGT\r\nAC\r\n\r\n>b\r\nTT", 1)).containsExactly("ACGTAC", "TT");
    assertThat(read(">only a name\n", 1)).isEmpty();
    assertThat(read(">only a name", 1)).isEmpty();
  }

  @Test
  void readsFastqOfAnyLineEnd() throws IOException {
    assertThat(read("@a\nACGT\n+\n@@@@\n@b\nTTA\n+b\n+++\n", 1)).containsExactly("ACGT", "TTA");
    assertThat(read("@a\r\nACGT\r\n+\r\nIIII\r\n@b\r\n\r\n+\r\n\r\n", 1)).containsExactly("ACGT");
    assertThat(read("@a\nACGT\n+\nIIII", 1)).containsExactly("ACGT");
    assertThat(read("@a\nACGT\n+\nIIII\n\n\n", 1)).containsExactly("ACGT");
  }

  @Test
  void anythingButABaseEndsAFragment() throws IOException {
    assertThat(read(">a\nACNGTRR\nTT*AAA-C.\n", 1)).containsExactly("AC", "GT", "TT", "AAA", "C");
    assertThat(read("@a\nNACGNTTTN\n+\nIIIIIIIII\n", 3)).containsExactly("ACG", "TTT");
  }

  @Test
  void fragmentsShorterThanKAreLeftOut() throws IOException {
    assertThat(read(">a\nACG\n>b\nACGT\n", 4)).containsExactly("ACGT");
  }

  @Test
  void longSequencesComeInPiecesThatOverlap() throws IOException {
    String sequence = bases(3 * SequenceReader.MAX_FRAGMENT, new Random(1));
    List<String> pieces = read(">a\n" + sequence + "\n", 21);
    assertThat(pieces)
        .hasSizeGreaterThan(2)
        .allMatch(p -> p.length() <= SequenceReader.MAX_FRAGMENT);
    assertThat(kmers(pieces, 21)).isEqualTo(kmers(List.of(sequence), 21));
  }

  /** However many readers share a file, together they see every k-mer once. */
  @ParameterizedTest
  @CsvSource({"plain,fasta", "plain,fastq", "plain,oneline", "gz,fasta", "gz,fastq", "gz,oneline"})
  void everyKmerIsReadByExactlyOneReader(String packing, String format) throws IOException {
    Random random = new Random(3);
    for (int size : new int[] {1, 40, 3000}) {
      List<String> sequences = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        sequences.add(bases(1 + random.nextInt(200), random));
      }
      byte[] text = format(sequences, format).getBytes(StandardCharsets.US_ASCII);
      Path file = packing.equals("gz") ? gz("x.gz", text) : plain("x", text);
      for (int readers : new int[] {1, 2, 3, 7, 50}) {
        List<String> pieces = new ArrayList<>();
        IntStream.range(0, readers).forEach(r -> pieces.addAll(read(file, 17, r, readers)));
        List<String> whole =
            format.equals("oneline") ? List.of(String.join("", sequences)) : sequences;
        assertThat(kmers(pieces, 17)).as("%d readers", readers).isEqualTo(kmers(whole, 17));
      }
    }
  }

  /**
   * Compressed files are shared in stripes of a MiB: this one has several, and records longer than
   * one.
   */
  @ParameterizedTest
  @ValueSource(strings = {"fasta", "fastq"})
  void compressedFilesOfSeveralStripesAreShared(String format) throws IOException {
    Random random = new Random(4);
    List<String> sequences = new ArrayList<>();
    for (int length : new int[] {100, 700_000, 2_500_000, 5, 300_000, 400_000, 400_000, 400_000}) {
      sequences.add(bases(length, random));
    }
    Path file = gz("x.gz", format(sequences, format).getBytes(StandardCharsets.US_ASCII));
    List<List<String>> parts = IntStream.range(0, 3).mapToObj(r -> read(file, 31, r, 3)).toList();
    assertThat(parts.stream().map(List::size)).doesNotContain(0);
    long total = parts.stream().flatMap(List::stream).mapToLong(p -> p.length() - 30).sum();
    assertThat(total)
        .isEqualTo(sequences.stream().mapToLong(s -> Math.max(0, s.length() - 30)).sum());
    assertThat(parts.stream().flatMap(List::stream).mapToLong(p -> hashOfKmers(p, 31)).sum())
        .isEqualTo(sequences.stream().mapToLong(s -> hashOfKmers(s, 31)).sum());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "''|is empty",
        "hello world|neither FASTA nor FASTQ",
        "'@a\nACGT\n+\nIII'|ends inside",
        "'@a\nACGT\n'|not name, bases",
        "'@a'|not name, bases",
        "'@a\nACGT\n+\nIIIIII\n'|more qualities",
        "'@a\nACGT\n+\nIIII\nhello\n'|does not start with '@'",
        "'@a\nACGT\nACGT\n+\nIIII\n'|not name, bases",
        "'>a\nAC1T\n'|no bases",
        "'>a\nAC\tT\n'|no bases",
      })
  void badInputIsSaidInOneLineWithFile(String text, String message) throws IOException {
    Path file = plain("bad", text.getBytes(StandardCharsets.US_ASCII));
    assertThatThrownBy(() -> read(file, 3, 0, 1))
        .isInstanceOf(BadInputException.class)
        .hasMessageContaining(file.toString())
        .hasMessageContaining(message)
        .message()
        .doesNotContain("\n");
  }

  @Test
  void positionIsThatOfTheFault() throws IOException {
    Path file = plain("bad", ">a\nACG?T\n".getBytes(StandardCharsets.US_ASCII));
    assertThatThrownBy(() -> read(file, 3, 0, 1)).hasMessageEndingWith("(byte 6)");
  }

  @Test
  void missingFileAndDirectory() {
    assertThatThrownBy(() -> SequenceReader.check(folder.resolve("none")))
        .isInstanceOf(BadInputException.class)
        .hasMessageContaining("none: no such file");
    assertThatThrownBy(() -> SequenceReader.check(folder))
        .isInstanceOf(BadInputException.class)
        .hasMessageContaining("is a directory");
  }

  @Test
  void truncatedAndDamagedCompressedData() throws IOException {
    byte[] text =
        format(List.of(bases(50_000, new Random(5))), "fasta").getBytes(StandardCharsets.US_ASCII);
    byte[] whole = Files.readAllBytes(gz("x.gz", text));
    for (int length : new int[] {5, 100, whole.length / 2, whole.length - 1}) {
      Path file = plain("cut.gz", Arrays.copyOf(whole, length));
      assertThatThrownBy(() -> read(file, 3, 0, 1))
          .isInstanceOf(BadInputException.class)
          .hasMessageContaining("cut.gz: compressed data ends too early");
    }
    whole[whole.length / 2] ^= 0x55;
    Path damaged = plain("damaged.gz", whole);
    assertThatThrownBy(() -> read(damaged, 3, 0, 1)).isInstanceOf(BadInputException.class);
  }

  private List<String> read(String text, int k) throws IOException {
    return read(plain("x", text.getBytes(StandardCharsets.US_ASCII)), k, 0, 1);
  }

  private static List<String> read(Path file, int k, int reader, int readers) {
    List<String> fragments = new ArrayList<>();
    FragmentSink sink = (codes, length) -> fragments.add(letters(codes, length));
    new SequenceReader(k, reader, readers, n -> {}, sink).read(file);
    return fragments;
  }

  private static String letters(byte[] codes, int length) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append("ACGT".charAt(codes[i]));
    }
    return text.toString();
  }

  private static String bases(int length, Random random) {
    StringBuilder text = new StringBuilder(length);
    for (int i = 0; i < length; i++) {
      text.append("ACGT".charAt(random.nextInt(4)));
    }
    return text.toString();
  }

  private static String format(List<String> sequences, String format) {
    StringBuilder text = new StringBuilder(format.equals("oneline") ? ">all\n" : "");
    for (String s : sequences) {
      switch (format) {
        case "fasta" ->
            text.append(">n ACGTACGTACGTACGTACGTACGT\n")
                .append(s.replaceAll("(.{61})", "$1\n"))
                .append('\n');
        case "fastq" ->
            text.append("@n\n")
                .append(s)
                .append("\n+\n")
                .append("@".repeat(s.length()))
                .append('\n');
        default -> text.append(s);
      }
    }
    return text.toString();
  }

  private static List<String> kmers(List<String> sequences, int k) {
    List<String> kmers = new ArrayList<>();
    for (String s : sequences) {
      for (int i = 0; i + k <= s.length(); i++) {
        kmers.add(s.substring(i, i + k));
      }
    }
    kmers.sort(null);
    return kmers;
  }

  /** Sum over all k-mers of a hash, so that millions can be compared. */
  private static long hashOfKmers(String s, int k) {
    long sum = 0;
    long window = 0;
    for (int i = 0; i < s.length(); i++) {
      window = (window << 2 | "ACGT".indexOf(s.charAt(i))) & (1L << 2 * k) - 1;
      if (i >= k - 1) {
        sum += window * window * 0x9E3779B97F4A7C15L;
      }
    }
    return sum;
  }

  private Path plain(String name, byte[] bytes) throws IOException {
    return Files.write(folder.resolve(name), bytes);
  }

  private Path gz(String name, byte[] bytes) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(bytes);
    }
    return plain(name, packed.toByteArray());
  }
}
