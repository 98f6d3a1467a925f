/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.array;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * An array of ints in equal blocks, one on each rank. Every rank reads and writes every element,
 * and no rank's program does anything for another's. Any thread.
 *
 * <p>Who may read what when is for the program to say: a barrier between writing and reading.
 */
final class DistributedArray {
  /** Where a rank's block comes from. */
  enum Memory {
    /** Memory of the library, which the ranks of a host share. */
    ALLOCATED,
    /** A buffer of the program, lent to the other ranks. */
    REGISTERED
  }

  private final LciRuntime lci;
  private final int length;
  private final int blockLength;
  private final MemoryRegion mine;
  private final List<RemoteMemory> blocks;

  private DistributedArray(
      LciRuntime lci, int length, int blockLength, MemoryRegion mine, List<RemoteMemory> blocks) {
    this.lci = lci;
    this.length = length;
    this.blockLength = blockLength;
    this.mine = mine;
    this.blocks = blocks;
  }

  /**
   * Makes an array; every rank takes part, with the same arguments. Its content is undefined.
   *
   * @param lci this rank
   * @param length elements, at least 1
   * @param memory where the blocks come from
   * @return emits the array when all ranks have given their block
   */
  static Mono<DistributedArray> create(LciRuntime lci, int length, Memory memory) {
    return Mono.defer(
        () -> {
          int blockLength = (length - 1) / lci.size() + 1;
          int bytes = Math.multiplyExact(blockLength, Integer.BYTES);
          MemoryRegion mine =
              switch (memory) {
                case ALLOCATED -> lci.memory().allocate(bytes);
                case REGISTERED -> lci.memory().register(ByteBuffer.allocateDirect(bytes));
              };
          return lci.memory()
              .exchange(mine)
              .map(blocks -> new DistributedArray(lci, length, blockLength, mine, blocks));
        });
  }

  int length() {
    return length;
  }

  /** Completes when the element has its value, whichever rank it is on. */
  Mono<Void> set(int index, int value) {
    return blockOf(index).put(offsetOf(index), Payload.ofInt(value));
  }

  /** Emits the element's value. */
  Mono<Integer> get(int index) {
    return blockOf(index)
        .get(offsetOf(index), Integer.BYTES)
        .map(bytes -> littleEndian(bytes).getInt());
  }

  /** Gives the memory back when every rank is done with it: all call this. */
  Mono<Void> close() {
    return lci.barrier()
        .then(Mono.<Void>fromRunnable(() -> blocks.forEach(RemoteMemory::dispose)))
        .then(mine.disposeLater());
  }

  private RemoteMemory blockOf(int index) {
    return blocks.get(index / blockLength);
  }

  private long offsetOf(int index) {
    return (long) index % blockLength * Integer.BYTES;
  }

  private static ByteBuffer littleEndian(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
