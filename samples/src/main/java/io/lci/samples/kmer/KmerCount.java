/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.samples.Samples;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.onepass.Partitions;
import io.lci.samples.reads.BadInputException;
import io.lci.samples.reads.SequenceReader;
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
import reactor.core.publisher.Mono;

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
      "All counts are exact. The reads are read once: runs of k-mers go to the partitions of their"
          + " owners, which count one partition after the other. With --two-pass the first pass fills"
          + " a Bloom filter of two layers; the second counts the k-mers that the filter saw more"
          + " than once. What remains are those that occur once.",
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
      names = "--memory",
      paramLabel = "MIB",
      description =
          "Most memory of a rank for the runs that it has received, in MiB; the rest goes to a file."
              + " Changes time, never the result. Default: half of the heap.")
  @Nullable Long memory;

  @Option(
      names = "--temp",
      paramLabel = "DIRECTORY",
      description =
          "Where that file lies. It loses its name at once, and is gone when the rank is. Default: java.io.tmpdir.")
  @Nullable Path temporary;

  @Option(
      names = "--two-pass",
      description =
          "Count in two passes over the reads, with a Bloom filter in front of the tables: the result"
              + " is the same.")
  boolean twoPass;

  @Option(
      names = "--bloom-bits",
      paramLabel = "B",
      description =
          "With --two-pass, size in bits of each of the filter's two layers, per rank. Changes time and"
              + " memory, never the result. Default, or 0: from the size of the input.")
  @Nullable Long bloomBits;

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
      try {
        runJob(lci);
        return 0;
      } catch (RuntimeException e) {
        return explain(lci, Exceptions.unwrap(e));
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
    require(twoPass || bloomBits == null, "--bloom-bits is for --two-pass");
    require(bloomBits == null || bloomBits >= 0, "--bloom-bits must not be negative");
    require(
        !twoPass || (memory == null && temporary == null),
        "--memory and --temp are not for --two-pass");
    require(memory == null || memory >= 1, "--memory must be at least 1 MiB");
    require(
        temporary == null || Files.isDirectory(temporary), "there is no directory " + temporary);
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

  private void runJob(LciRuntime lci) {
    JobProgress progress = new JobProgress();
    boolean bar = lci.rank() == 0 && ProgressBar.isTerminal();
    Disposable shown = bar ? ProgressBar.show(progress, System.err) : Disposables.disposed();
    try {
      JobSummary summary = KmerJob.run(lci, options(lci), progress).block();
      shown.dispose();
      if (summary != null && lci.rank() == 0) {
        System.err.println(summary.line());
      }
    } finally {
      shown.dispose();
    }
  }

  private KmerOptions options(LciRuntime lci) {
    KmerShape shape = new KmerShape(k, canonical);
    KmerOptions.Form form = twoPass ? twoPassForm(lci) : onePassForm();
    return new KmerOptions(shape, form, histogram, dump, files);
  }

  private KmerOptions.Form twoPassForm(LciRuntime lci) {
    long bits =
        bloomBits == null || bloomBits == 0 ? size() * BITS_PER_BYTE / lci.size() : bloomBits;
    return new KmerOptions.TwoPass(Math.max(LEAST_BITS, bits));
  }

  private KmerOptions.Form onePassForm() {
    long bytes = memory == null ? Runtime.getRuntime().maxMemory() / 2 : memory << 20;
    Path folder = temporary == null ? Path.of(System.getProperty("java.io.tmpdir")) : temporary;
    return new KmerOptions.OnePass(Partitions.countFor(size()), bytes, folder);
  }

  /** Bytes of all reads, as far as one can know. */
  private long size() {
    return files.stream().mapToLong(KmerCount::uncompressedSize).sum();
  }

  /** A file that is not there has none: the job says so. */
  private static long uncompressedSize(Path file) {
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      return 0;
    }
    long size = KmerJob.fileSize(file);
    return size > 0 && SequenceReader.isCompressed(file) ? size * BYTES_PER_COMPRESSED : size;
  }

  /** Says in one line, once for the job, why it failed. */
  private static int explain(LciRuntime lci, Throwable error) {
    if (error instanceof PeerFailedException) {
      Samples.complain("kmer", reason(error));
      return Samples.PEER_FAILED;
    }
    String reason = reason(error);
    // Rank 0 speaks for the job: all have heard of the failure. Unless it is silent.
    if (lci.rank() == 0 || !leavesInTime(lci)) {
      Samples.complain("kmer", reason);
    }
    return Samples.FAILED;
  }

  /** Whether rank 0 leaves: it has spoken by then. */
  private static boolean leavesInTime(LciRuntime lci) {
    return Boolean.TRUE.equals(
        lci.peerEvents()
            .any(event -> event.rank() == 0 && event.state() == PeerEvent.State.LEFT)
            .timeout(PATIENCE, Mono.just(false))
            .block());
  }

  private static String reason(Throwable error) {
    boolean expected =
        error instanceof BadInputException
            || error instanceof LciException
            || error instanceof UncheckedIOException;
    if (!expected) {
      error.printStackTrace();
    }
    if (error instanceof CollectiveFailedException told) {
      return "rank " + told.rank() + ": " + told.hint();
    }
    String message = error.getMessage();
    return message == null ? error.toString() : message;
  }
}
