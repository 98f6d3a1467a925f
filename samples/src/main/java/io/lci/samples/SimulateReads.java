/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.samples.reads.BadInputException;
import io.lci.samples.reads.SequenceReader;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Writes reads as a sequencer would: pieces of a genome from either strand, some bases wrong. */
@Command(
    name = "simulate-reads",
    mixinStandardHelpOptions = true,
    description = "Writes simulated reads as FASTQ. The same seed gives the same reads.")
public final class SimulateReads implements Callable<Integer> {
  private static final byte[] LETTERS = "ACGT".getBytes(StandardCharsets.US_ASCII);

  static final class Genome {
    @Parameters(paramLabel = "GENOME", description = "FASTA file, plain or gz.")
    @Nullable Path file;

    @Option(
        names = "--random-genome",
        paramLabel = "BASES",
        description = "Instead of a file: a random genome of so many bases.")
    int randomBases;
  }

  @ArgGroup(exclusive = true, multiplicity = "1")
  Genome genome = new Genome();

  @Option(names = "--reads", paramLabel = "N", defaultValue = "10000", description = DEFAULT)
  long reads;

  @Option(names = "--length", paramLabel = "BASES", defaultValue = "150", description = DEFAULT)
  int length;

  @Option(
      names = "--error-rate",
      paramLabel = "P",
      defaultValue = "0.00333",
      description = "Chance that a base is wrong; default ${DEFAULT-VALUE}.")
  double errorRate;

  @Option(names = "--seed", defaultValue = "1", description = DEFAULT)
  long seed;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      defaultValue = "-",
      description = "Default: standard output.")
  String output = "-";

  private static final String DEFAULT = "Default ${DEFAULT-VALUE}.";

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new SimulateReads(), args);
  }

  @Override
  public Integer call() throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] bases = genome.file == null ? randomGenome(random) : readGenome(genome.file);
    if (bases.length < length) {
      throw new IllegalArgumentException(
          "the genome has " + bases.length + " bases, fewer than a read of " + length);
    }
    OutputStream target = output.equals("-") ? System.out : Files.newOutputStream(Path.of(output));
    try (OutputStream out = new BufferedOutputStream(target, 1 << 16)) {
      for (long i = 0; i < reads; i++) {
        writeRead(i, read(bases, random), out);
      }
    }
    return 0;
  }

  private byte[] randomGenome(SplittableRandom random) {
    byte[] bases = new byte[genome.randomBases];
    for (int i = 0; i < bases.length; i++) {
      bases[i] = (byte) random.nextInt(4);
    }
    return bases;
  }

  private static byte[] readGenome(Path file) throws BadInputException {
    ByteArrayOutputStream bases = new ByteArrayOutputStream();
    new SequenceReader(1, 0, 1, n -> {}, (codes, count) -> bases.write(codes, 0, count)).read(file);
    return bases.toByteArray();
  }

  private byte[] read(byte[] bases, SplittableRandom random) {
    int start = random.nextInt(bases.length - length + 1);
    byte[] read = Arrays.copyOfRange(bases, start, start + length);
    if (random.nextBoolean()) {
      reverseComplement(read);
    }
    for (int i = 0; i < length; i++) {
      if (random.nextDouble() < errorRate) {
        read[i] = (byte) ((read[i] + 1 + random.nextInt(3)) & 3);
      }
    }
    return read;
  }

  private static void reverseComplement(byte[] read) {
    for (int i = 0, j = read.length - 1; i <= j; i++, j--) {
      byte left = read[i];
      read[i] = (byte) (3 - read[j]);
      read[j] = (byte) (3 - left);
    }
  }

  private static void writeRead(long number, byte[] read, OutputStream out) throws IOException {
    byte[] qualities = new byte[read.length];
    Arrays.fill(qualities, (byte) 'I');
    for (int i = 0; i < read.length; i++) {
      read[i] = LETTERS[read[i]];
    }
    out.write(("@read" + number + "\n").getBytes(StandardCharsets.US_ASCII));
    out.write(read);
    out.write("\n+\n".getBytes(StandardCharsets.US_ASCII));
    out.write(qualities);
    out.write('\n');
  }
}
