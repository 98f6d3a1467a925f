/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.List;
import reactor.core.publisher.Flux;

/**
 * Gets out of memory that rank 1 allocated, by the bulk operator: always the same place into the
 * same buffer, as the benchmark in C does.
 */
final class MemoryBench {
  private static final int LONG_BYTES = 64 << 10;
  private static final long MARK = 0x1234_5678_9ABC_DEF0L;

  private MemoryBench() {}

  /** Millions of gets of eight bytes in a second. */
  static double rate(LciRuntime lci, Dose dose) {
    return gets(lci, dose, Long.BYTES);
  }

  /** GB in a second by gets of 64 KiB. */
  static double bandwidth(LciRuntime lci, Dose dose) {
    return gets(lci, dose, LONG_BYTES) * LONG_BYTES * 1e-3;
  }

  private static double gets(LciRuntime lci, Dose dose, int bytes) {
    MemoryRegion region = lci.memory().allocate(bytes);
    region.view(0, bytes).putLong(bytes - Long.BYTES, MARK * lci.rank());
    List<RemoteMemory> memories = lci.memory().exchange(region).blockOptional().orElseThrow();
    double rate = lci.rank() == 0 ? gets(lci, dose, memories.get(1), bytes) : 0;
    memories.forEach(RemoteMemory::dispose);
    lci.barrier().block(); // until then it is read
    region.dispose();
    return rate;
  }

  private static double gets(LciRuntime lci, Dose dose, RemoteMemory memory, int bytes) {
    LciBuffer buffer = lci.memory().buffer(bytes);
    Op get = Op.get(memory, 0, buffer);
    PostOptions options = PostOptions.builder().stopOnError(true).build();
    double rate =
        dose.rate(() -> lci.post(Flux.range(0, dose.count()).map(n -> get), options).blockLast());
    if (buffer.view().getLong(bytes - Long.BYTES) != MARK) {
      throw new IllegalStateException("the last bytes got are not those of rank 1");
    }
    return rate;
  }
}
