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
 * @param seconds time of each phase
 * @param peakKib most memory of each rank
 */
record JobSummary(long kmers, long distinct, List<Double> seconds, List<Long> peakKib) {
  /** One line for people. */
  String line() {
    String memory =
        peakKib.stream().map(kib -> Long.toString(kib / 1024)).collect(Collectors.joining(" + "));
    String phases =
        seconds.stream()
            .map(time -> String.format(Locale.ROOT, "%.2f s", time))
            .collect(Collectors.joining(" + "));
    double all = seconds.stream().mapToDouble(Double::doubleValue).sum();
    return String.format(
        Locale.ROOT,
        "kmer: %d k-mers, %d distinct; %s, %.2f M k-mers/s; peak memory %s MiB",
        kmers,
        distinct,
        phases,
        kmers / 1e6 / Math.max(1e-9, all),
        memory);
  }
}
