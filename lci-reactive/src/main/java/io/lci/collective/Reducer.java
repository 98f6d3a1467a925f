/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import java.nio.ByteBuffer;

/**
 * Code of the program that combines elements of members: see {@link ReduceOp#of}. It must be
 * associative: {@code (a b) c} is {@code a (b c)}.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface Reducer {
  /**
   * Combines elements, one by one. Called on the loop, so it must be quick and must not block.
   *
   * @param type the type of the elements
   * @param left those of lower members, combined, from 0 to the limit, little-endian; gets the
   *     results
   * @param right those of the next member, as many, little-endian, read-only
   */
  void reduce(DataType type, ByteBuffer left, ByteBuffer right);
}
