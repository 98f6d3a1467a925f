/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.array;

import io.lci.LciRuntime;
import io.lci.samples.Samples;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** All ranks write an array that lies on all of them, then each reads all of it. [W4] */
@Command(
    name = "array",
    mixinStandardHelpOptions = true,
    description = {
      "Writes an array of ints that lies on all ranks, then reads and checks it.",
      "Each rank writes every N-th element, wherever it lies, and reads all."
    })
public final class DistributedArrayCheck implements Callable<Integer> {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  /** Elements under way at a time. */
  private static final int WINDOW = 64;

  @Option(
      names = "--length",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Elements. Default ${DEFAULT-VALUE}.")
  int length;

  @Option(
      names = "--memory",
      defaultValue = "ALLOCATED",
      description =
          "Where each rank's part comes from: ${COMPLETION-CANDIDATES}. Default ${DEFAULT-VALUE}.")
  DistributedArray.Memory memory = DistributedArray.Memory.ALLOCATED;

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new DistributedArrayCheck(), args);
  }

  @Override
  public Integer call() {
    Samples.require(spec, length >= 1, "--length must be at least 1, not " + length);
    try (LciRuntime lci = LciRuntime.create()) {
      Long sum = run(lci, length, memory).block(LIMIT);
      if (lci.rank() == 0) {
        System.out.printf(
            Locale.ROOT,
            "%d elements on %d ranks, all as written; their sum is %d%n",
            length,
            lci.size(),
            sum);
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  /** Emits the sum of all elements as this rank reads them; fails at a wrong one. */
  static Mono<Long> run(LciRuntime lci, int length, DistributedArray.Memory memory) {
    return DistributedArray.create(lci, length, memory)
        .flatMap(
            array ->
                write(lci, array)
                    .then(lci.barrier()) // all have written
                    .then(read(array))
                    .delayUntil(sum -> array.close()));
  }

  private static Mono<Void> write(LciRuntime lci, DistributedArray array) {
    return Flux.range(0, array.length())
        .filter(index -> index % lci.size() == lci.rank())
        .flatMap(index -> array.set(index, valueAt(index)), WINDOW)
        .then();
  }

  static Mono<Long> read(DistributedArray array) {
    return Flux.range(0, array.length())
        .flatMap(index -> array.get(index).map(value -> checked(index, value)), WINDOW)
        .reduce(0L, Long::sum);
  }

  private static long checked(int index, int value) {
    if (value != valueAt(index)) {
      throw new IllegalStateException(
          "element " + index + " is " + value + ", expected " + valueAt(index));
    }
    return value;
  }

  static int valueAt(int index) {
    return Integer.rotateLeft(index * 0x9E37_79B9, 7);
  }
}
