/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * What a job did.
 *
 * @param kmers k-mers in the input
 * @param distinct different ones
 * @param fillSeconds time of the first pass
 * @param countSeconds time of the second
 * @param peakKib most memory of each rank
 */
record JobSummary(
    long kmers, long distinct, double fillSeconds, double countSeconds, List<Long> peakKib) {
  /** One line for people. */
  String line() {
    String memory =
        peakKib.stream().map(kib -> Long.toString(kib / 1024)).collect(Collectors.joining(" + "));
    return String.format(
        Locale.ROOT,
        "kmer: %d k-mers, %d distinct; %.2f s + %.2f s, %.2f M k-mers/s; peak memory %s MiB",
        kmers,
        distinct,
        fillSeconds,
        countSeconds,
        kmers / 1e6 / Math.max(1e-9, fillSeconds + countSeconds),
        memory);
  }
}
