/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;

/**
 * The settings of every test: ranks in one process, processes of 2 and 4 ranks, and chaos: 3 seeds,
 * in the soak 20, or the one in {@code LCI_SEED}.
 */
final class Settings implements ArgumentsProvider {
  private static final String PLAN = "delay=0.3,ticks=12,refuse=0.15,short=0.2,stall=1@40x200";

  @Override
  public Stream<Arguments> provideArguments(ExtensionContext context) {
    return Stream.concat(
            Stream.of(
                new Setting("inproc", 3, false, Map.of()),
                new Setting("processes2", 2, true, Map.of()),
                new Setting("processes4", 4, true, Map.of())),
            seeds().mapToObj(Settings::chaos))
        .map(Arguments::of);
  }

  private static LongStream seeds() {
    String given = System.getenv("LCI_SEED");
    if (given != null) {
      return LongStream.of(Long.parseLong(given));
    }
    return LongStream.rangeClosed(1, "soak".equals(System.getenv("LCI_TIER")) ? 20 : 3);
  }

  private static Setting chaos(long seed) {
    return new Setting("chaos" + seed, 3, false, Map.of("chaos", "seed=" + seed + ',' + PLAN));
  }
}
