/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import java.util.Objects;

/**
 * The place of a part of a put or get in remote memory; see {@link io.lci.Op#put(java.util.List,
 * BufferList)}.
 *
 * @param memory an opened region
 * @param offset bytes from its start
 * @since 0.1
 */
public record RemotePlace(RemoteMemory memory, long offset) {
  /**
   * Checks the offset.
   *
   * @param memory an opened region
   * @param offset bytes from its start
   */
  public RemotePlace {
    Objects.checkFromToIndex(0, offset, memory.size());
  }
}
