/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.barrier;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.List;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * How often each rank has entered a barrier, known without messages: before it enters, a rank
 * writes its count into the memory of all others.
 */
final class Entries {
  private final LciRuntime lci;
  private final MemoryRegion counts;
  private final List<RemoteMemory> others;

  private Entries(LciRuntime lci, MemoryRegion counts, List<RemoteMemory> others) {
    this.lci = lci;
    this.counts = counts;
    this.others = others;
  }

  /** Every rank takes part. */
  static Mono<Entries> create(LciRuntime lci) {
    return Mono.defer(
        () -> {
          MemoryRegion counts = lci.memory().allocate((long) Long.BYTES * lci.size());
          for (int rank = 0; rank < lci.size(); rank++) {
            counts.view((long) Long.BYTES * rank, Long.BYTES).putLong(0, 0);
          }
          return lci.memory().exchange(counts).map(others -> new Entries(lci, counts, others));
        });
  }

  /** Completes when all ranks can see that this one enters for the {@code count}-th time. */
  Mono<Void> write(long count) {
    long mine = (long) Long.BYTES * lci.rank();
    return Flux.fromIterable(others)
        .flatMap(other -> other.put(mine, Payload.ofLong(count)))
        .then();
  }

  /**
   * Fails unless this rank may have left the barrier for the {@code count}-th time: all must have
   * entered as often, and none more than once more.
   */
  void check(long count) {
    for (int rank = 0; rank < lci.size(); rank++) {
      long entered = counts.view((long) Long.BYTES * rank, Long.BYTES).getLong(0);
      if (entered < count || entered > count + 1) {
        throw new IllegalStateException(
            "rank %d left run %d, but rank %d has entered %d"
                .formatted(lci.rank(), count, rank, entered));
      }
    }
  }

  /** Gives the memory back when every rank is done with it: all call this. */
  Mono<Void> close() {
    return lci.barrier()
        .then(Mono.<Void>fromRunnable(() -> others.forEach(RemoteMemory::dispose)))
        .then(counts.disposeLater());
  }
}
