/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** One rank of the job, as the body of a test sees it. */
record World(LciRuntime lci) {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  int rank() {
    return lci.rank();
  }

  int size() {
    return lci.size();
  }

  /** The rank {@code distance} further on, which may be negative. */
  int rankAt(int distance) {
    return Math.floorMod(rank() + distance, size());
  }

  int next() {
    return rankAt(1);
  }

  int previous() {
    return rankAt(-1);
  }

  /** Waits for the value. */
  <T> T await(Mono<T> mono) {
    try {
      return mono.block(PATIENCE);
    } catch (IllegalStateException e) {
      throw waitedTooLong(e);
    }
  }

  private AssertionError waitedTooLong(Throwable e) {
    Map<String, Long> counted = new TreeMap<>(lci.snapshot().counters());
    counted.values().removeIf(value -> value == 0);
    return new AssertionError("rank " + rank() + " waited too long; it counted " + counted, e);
  }

  /** Waits for all of them. */
  void awaitAll(Publisher<?>... all) {
    await(Mono.when(all));
  }

  /** All ranks have come here. */
  void barrier() {
    await(lci.barrier());
  }

  /** Opens every rank's region, in the order of ranks. Every rank calls it. */
  List<RemoteMemory> open(MemoryRegion mine) {
    return await(lci.memory().exchange(mine));
  }

  /** Bytes that tell sizes and seeds apart. */
  static byte[] pattern(int size, int seed) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 + seed * 17 + (i >> 8));
    }
    return bytes;
  }

  /** What lies in a region of this rank. */
  static byte[] content(MemoryRegion region, long offset, int length) {
    byte[] bytes = new byte[length];
    if (length > 0) {
      region.view(offset, length).get(bytes);
    }
    return bytes;
  }

  static void assertPattern(byte[] bytes, int size, int seed, String what) {
    assertThat(bytes).as(what).isEqualTo(pattern(size, seed));
  }
}
