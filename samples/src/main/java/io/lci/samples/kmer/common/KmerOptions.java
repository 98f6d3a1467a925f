/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a job does.
 *
 * @param shape what is counted
 * @param form how it is counted
 * @param histogram where the histogram goes, "-" for standard output, or null
 * @param dump where the k-mers go, or null
 * @param files the reads
 */
public record KmerOptions(
    KmerShape shape,
    Form form,
    @Nullable String histogram,
    @Nullable String dump,
    List<Path> files) {
  /** How k-mers are counted. */
  public sealed interface Form {}

  /**
   * In one pass.
   *
   * @param partitions of all ranks together
   * @param memoryBytes most memory of a rank for what it has received
   * @param temporary the folder where the rest goes
   */
  public record OnePass(int partitions, long memoryBytes, Path temporary) implements Form {}

  /**
   * In two passes.
   *
   * @param bloomBits size of each of the filter's two layers, per rank
   */
  public record TwoPass(long bloomBits) implements Form {}
}
