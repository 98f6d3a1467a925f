/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import java.nio.ByteBuffer;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Memory of this rank that other ranks may put to and get from once they have its {@link #handle}.
 * Made by {@link Memory#allocate} or {@link Memory#register}.
 *
 * <p>Peers write while this rank reads: the program must decide when a part may be read, by a
 * signal, a message or a barrier. Any thread.
 *
 * @since 0.1
 */
public interface MemoryRegion extends Disposable {
  /** {@return the bytes by which another rank opens the region; a new copy each time} */
  byte[] handle();

  /** {@return its length in bytes} */
  long size();

  /**
   * Returns a view of a part, little-endian, at position 0.
   *
   * @param offset bytes from the start of the region
   * @param length bytes of the view
   * @return the view; after disposal it shows undefined bytes, and never another region's memory of
   *     this process beyond the runtime's own
   * @throws IndexOutOfBoundsException if the part is not inside the region
   * @throws IllegalStateException after disposal
   */
  ByteBuffer view(long offset, int length);

  /**
   * Ends the region: from now on operations of peers on it end in {@link
   * io.lci.error.MemoryClosedException}. Repeated calls do nothing.
   *
   * @throws io.lci.error.LciException if parts of an allocated region are still registered
   */
  @Override
  void dispose();

  /**
   * As {@link #dispose()}, at subscription; it waits for nothing. To end the region after the last
   * operation, subscribe behind it: {@code operations.then(region.disposeLater())}. For operations
   * of peers, subscribe behind a barrier or a message that says that they have ended.
   *
   * @return completes on the subscriber's thread, or fails as {@link #dispose()}; it needs no
   *     demand, and cancel comes too late
   */
  Mono<Void> disposeLater();
}
