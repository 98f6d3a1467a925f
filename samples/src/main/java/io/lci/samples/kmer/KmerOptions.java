/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a job does.
 *
 * @param shape what is counted
 * @param bloomBits size of each of the filter's two layers, per rank; 0: from the size of the input
 * @param histogram where the histogram goes, "-" for standard output, or null
 * @param dump where the k-mers go, or null
 * @param files the reads
 */
record KmerOptions(
    KmerShape shape,
    long bloomBits,
    @Nullable String histogram,
    @Nullable String dump,
    List<Path> files) {}
