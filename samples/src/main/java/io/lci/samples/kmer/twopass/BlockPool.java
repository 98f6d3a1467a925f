/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import java.util.concurrent.ArrayBlockingQueue;

/**
 * The blocks of one reader: as many as there are, filled, under way or free. {@link #take} waits
 * for a free one.
 */
final class BlockPool {
  private final ArrayBlockingQueue<Block> free;

  BlockPool(int blocks) {
    free = new ArrayBlockingQueue<>(blocks);
    for (int i = 0; i < blocks; i++) {
      free.add(new Block());
    }
  }

  Block take() throws InterruptedException {
    return free.take();
  }

  /** Gives a block back; any thread, never waits. */
  void give(Block block) {
    free.add(block);
  }
}
