/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.samples.Samples;
import io.lci.samples.reads.BadInputException;
import io.lci.samples.reads.SequenceReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;

/** The command line of the k-mer job: {@code ./lci run -n N kmer ...}. */
@Command(
    name = "kmer",
    mixinStandardHelpOptions = true,
    description = {
      "Counts the k-mers of reads across all ranks of the job.",
      "Reads are FASTA or FASTQ, plain or compressed by gzip. K-mers with anything but A, C, G and T"
          + " are skipped. The result does not depend on the number of ranks and threads."
    },
    footer = {
      "",
      "All counts are exact. The first pass fills a Bloom filter of two layers; the second counts the"
          + " k-mers that the filter saw more than once. What remains are those that occur once.",
      "Exit codes: 0 done, 1 bad input, 2 wrong arguments, 3 out of memory, 4 another rank died."
    })
public final class KmerCount implements Callable<Integer> {
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /** Bits per layer and byte of input: enough to keep false positives below a few percent. */
  private static final long BITS_PER_BYTE = 2;

  private static final long BYTES_PER_COMPRESSED = 4;
  private static final long LEAST_BITS = 1 << 16;

  @Option(
      names = "-k",
      paramLabel = "BASES",
      defaultValue = "51",
      description = "Bases per k-mer, 1 to 63. Default ${DEFAULT-VALUE}.")
  int k;

  @Option(
      names = "--canonical",
      description = "Count a k-mer and its reverse complement as one, named by the lesser.")
  boolean canonical;

  @Option(
      names = "--threads",
      paramLabel = "T",
      description = "Loops per rank, and as many threads that read. Default 1, or lci.loops.")
  @Nullable Integer threads;

  @Option(
      names = "--histogram",
      paramLabel = "FILE",
      description =
          "Write lines of COUNT<TAB>NUMBER of distinct k-mers with that count, ascending. \"-\" is standard output.")
  @Nullable String histogram;

  @Option(
      names = "--dump",
      paramLabel = "FILE",
      description =
          "Write lines of KMER<TAB>COUNT for the k-mers that occur more than once, in no particular order.")
  @Nullable String dump;

  @Option(
      names = "--bloom-bits",
      paramLabel = "B",
      defaultValue = "0",
      description =
          "Size in bits of each of the filter's two layers, per rank. Changes time and memory, never the result."
              + " Default: from the size of the input.")
  long bloomBits;

  @Parameters(paramLabel = "FILE", arity = "1..*", description = "The reads.")
  List<Path> files = List.of();

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new KmerCount(), args);
  }

  @Override
  public Integer call() {
    checkArguments();
    try (LciRuntime lci = LciRuntime.create(runtimeOptions())) {
      AbortLine abort = new AbortLine(lci);
      try {
        runJob(lci, abort);
        return 0;
      } catch (RuntimeException e) {
        return explain(lci, abort, Exceptions.unwrap(e));
      }
    }
  }

  private LciOptions runtimeOptions() {
    return threads == null ? LciOptions.defaults() : LciOptions.builder().loops(threads).build();
  }

  private void checkArguments() {
    require(k >= 1 && k <= KmerShape.MAX_K, "-k must be 1 to " + KmerShape.MAX_K + ", not " + k);
    require(
        threads == null || (threads >= 1 && threads <= LciOptions.MAX_LOOPS),
        "--threads must be 1 to " + LciOptions.MAX_LOOPS + ", not " + threads);
    require(bloomBits >= 0, "--bloom-bits must not be negative");
    checkOutput(histogram);
    checkOutput(dump);
  }

  private void checkOutput(@Nullable String name) {
    if (name != null && !name.equals("-")) {
      Path target = Path.of(name).toAbsolutePath();
      require(!Files.isDirectory(target), target + " is a directory");
      Path folder = target.getParent();
      require(folder != null && Files.isDirectory(folder), "there is no directory " + folder);
    }
  }

  private void require(boolean condition, String message) {
    Samples.require(spec, condition, message);
  }

  private void runJob(LciRuntime lci, AbortLine abort) {
    files.forEach(SequenceReader::check);
    JobProgress progress = new JobProgress();
    long bytes = files.stream().mapToLong(KmerCount::fileSize).sum();
    boolean bar = lci.rank() == 0 && ProgressBar.isTerminal();
    Disposable shown =
        bar ? ProgressBar.show(progress, bytes / lci.size(), System.err) : Disposables.disposed();
    try {
      JobSummary summary = KmerJob.run(lci, options(lci), abort, progress).block();
      shown.dispose();
      if (summary != null && lci.rank() == 0) {
        System.err.println(summary.line());
      }
    } finally {
      shown.dispose();
    }
  }

  private KmerOptions options(LciRuntime lci) {
    long bits = bloomBits > 0 ? bloomBits : defaultBits() / lci.size();
    return new KmerOptions(
        new KmerShape(k, canonical), Math.max(LEAST_BITS, bits), histogram, dump, files);
  }

  private long defaultBits() {
    return files.stream().mapToLong(KmerCount::uncompressedSize).sum() * BITS_PER_BYTE;
  }

  private static long uncompressedSize(Path file) {
    return fileSize(file) * (SequenceReader.isCompressed(file) ? BYTES_PER_COMPRESSED : 1);
  }

  private static long fileSize(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": " + e.getMessage(), e);
    }
  }

  /** Says in one line, once for the job, why it failed, and makes the other ranks end too. */
  private static int explain(LciRuntime lci, AbortLine abort, Throwable error) {
    if (error instanceof PeerFailedException) {
      Samples.complain("kmer", reason(error));
      return Samples.PEER_FAILED;
    }
    String reason = reason(error);
    if (lci.rank() == 0) {
      Samples.complain("kmer", reason);
      abort.tell(reason, PATIENCE);
      return Samples.FAILED;
    }
    // Rank 0 speaks for the job: what is wrong with the input is wrong for all. Unless it is gone
    // or silent.
    boolean known = error instanceof AbortedException;
    if (!known) {
      abort.tell(reason, PATIENCE);
    }
    if (!abort.awaitFirstRank(PATIENCE) && !known) {
      Samples.complain("kmer", reason);
    }
    return Samples.FAILED;
  }

  private static String reason(Throwable error) {
    boolean expected =
        error instanceof BadInputException
            || error instanceof AbortedException
            || error instanceof LciException
            || error instanceof UncheckedIOException;
    if (!expected) {
      error.printStackTrace();
    }
    String message = error.getMessage();
    return message == null ? error.toString() : message;
  }
}
