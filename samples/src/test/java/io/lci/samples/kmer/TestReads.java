/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPOutputStream;

/**
 * Reads of a small random genome, with errors, unknown bases, lower case, and some shorter than any
 * k.
 */
public final class TestReads {
  private TestReads() {}

  public static List<String> make(int reads, long seed) {
    Random random = new Random(seed);
    StringBuilder genome = new StringBuilder();
    for (int i = 0; i < 3000; i++) {
      genome.append("ACGT".charAt(random.nextInt(4)));
    }
    genome.append("A".repeat(200));
    List<String> result = new ArrayList<>();
    for (int i = 0; i < reads; i++) {
      int length = 5 + random.nextInt(200);
      int start = random.nextInt(genome.length() - length);
      result.add(disturb(genome.substring(start, start + length), random));
    }
    return result;
  }

  private static String disturb(String piece, Random random) {
    String read = random.nextBoolean() ? piece : ReferenceCount.reverseComplement(piece);
    StringBuilder disturbed =
        new StringBuilder(random.nextInt(10) == 0 ? read.toLowerCase() : read);
    while (random.nextInt(3) == 0) {
      disturbed.setCharAt(random.nextInt(read.length()), "ACGTN".charAt(random.nextInt(5)));
    }
    return disturbed.toString();
  }

  public static Path fastq(Path file, List<String> reads) throws IOException {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < reads.size(); i++) {
      // Qualities that look like names, as they may.
      String qualities = "@+".repeat(reads.get(i).length()).substring(0, reads.get(i).length());
      text.append("@r").append(i).append('\n').append(reads.get(i)).append("\n+\n");
      text.append(qualities).append('\n');
    }
    return write(file, text);
  }

  public static Path fasta(Path file, List<String> sequences, int width, String lineEnd)
      throws IOException {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < sequences.size(); i++) {
      text.append(">s").append(i).append(" ACGTACGTACGT").append(lineEnd);
      String sequence = sequences.get(i);
      for (int at = 0; at < sequence.length(); at += width) {
        text.append(sequence, at, Math.min(sequence.length(), at + width)).append(lineEnd);
      }
    }
    return write(file, text);
  }

  /**
   * Compressed if the name ends in gz, then in two members, as tools that work in blocks write it.
   */
  private static Path write(Path file, StringBuilder text) throws IOException {
    byte[] bytes = text.toString().getBytes(StandardCharsets.US_ASCII);
    if (!file.toString().endsWith(".gz")) {
      return Files.write(file, bytes);
    }
    int half = bytes.length / 2;
    try (OutputStream out = Files.newOutputStream(file)) {
      GZIPOutputStream first = new GZIPOutputStream(out);
      first.write(bytes, 0, half);
      first.finish();
      GZIPOutputStream second = new GZIPOutputStream(out);
      second.write(bytes, half, bytes.length - half);
      second.finish();
    }
    return file;
  }
}
