/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import java.nio.ByteBuffer;
import java.util.List;
import reactor.core.publisher.Mono;

/**
 * Memory that ranks share, and buffers that operations refer to. Made by {@link
 * io.lci.LciRuntime#memory()}. Any thread.
 *
 * @since 0.1
 */
public interface Memory {
  /**
   * Allocates memory that other ranks may put to and get from. On one host they do so by plain
   * copies, without this rank's help. The content is undefined. A region that is not disposed ends
   * with the runtime.
   *
   * @param bytes its size, at least 1
   * @return the region
   * @throws io.lci.error.ResourceExhaustedException if the machine, the container or option {@code
   *     arena_bytes} has no more
   */
  MemoryRegion allocate(long bytes);

  /**
   * Lets other ranks put to and get from memory of the program. Ranks in other processes reach it
   * with the help of this rank's loops.
   *
   * @param direct a direct buffer: all of it, whatever its position; the runtime keeps it reachable
   *     until disposal
   * @return the region
   */
  MemoryRegion register(ByteBuffer direct);

  /**
   * Opens a region of another rank, or of this one.
   *
   * @param rank its owner
   * @param handle from {@link MemoryRegion#handle}, brought here by any means; every byte is
   *     checked
   * @return the region, to put to and get from
   * @throws io.lci.error.MemoryClosedException if the region has ended and this rank can see that;
   *     over a network it asks nobody, and the first operation that moves a byte ends with this
   *     error
   * @throws io.lci.error.LciException if the bytes are no handle of that rank
   */
  RemoteMemory remote(int rank, byte[] handle);

  /**
   * Gives a region to every rank, and opens theirs: {@link
   * io.lci.collective.World#exchange(byte[])} of the handles over {@link
   * io.lci.LciRuntime#world()}, and numbered with that group's calls.
   *
   * @param mine a region of this rank
   * @return takes part at subscription; emits the regions by rank, this rank's own included, on
   *     loop 0; the subscriber must dispose of them; cancel detaches the subscriber, this rank
   *     still takes part; fails with {@link io.lci.error.MemoryClosedException} if a region has
   *     ended, where {@link #remote} would; else as {@link
   *     io.lci.collective.World#exchange(byte[])}
   */
  Mono<List<RemoteMemory>> exchange(MemoryRegion mine);

  /**
   * Allocates memory that operations refer to instead of copying it.
   *
   * @param bytes its size
   * @return the buffer
   */
  LciBuffer buffer(int bytes);

  /**
   * The same in the runtime's shared memory. Ranks of this host that get a long payload from it
   * copy it once, from where it lies; out of a {@link #buffer} it goes through packets, two copies.
   * Collectives of such ranks gain most. To other hosts it makes no difference.
   *
   * <p>It takes of what {@code arena_bytes} allows, as regions do, until the garbage collector
   * finds that neither the program nor an operation needs it, and is counted as an allocated
   * region; nobody has its handle. The content is undefined at first. After the runtime's close a
   * view of it shows undefined bytes.
   *
   * @param bytes its size
   * @return the buffer
   * @throws io.lci.error.ResourceExhaustedException if there is no room for it; except on threads
   *     that must not block, such as loops, garbage is collected before
   * @throws io.lci.error.LciClosedException after the runtime's close
   */
  LciBuffer sharedBuffer(int bytes);
}
