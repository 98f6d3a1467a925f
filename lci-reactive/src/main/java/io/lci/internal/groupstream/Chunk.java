/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.collective.DataType;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A part of a stream that is reduced: what it is travels, so that members know whether theirs fit
 * each other. The elements do not.
 *
 * @param type of the elements
 * @param count elements
 * @param own this member's elements; null if it is another one's
 */
record Chunk(DataType type, long count, @Nullable Vec own) {
  private static final List<DataType> TYPES = List.of(DataType.values());

  static final Codec<Chunk> CODEC =
      Codec.of(
          (chunk, out) -> out.putInt(chunk.type.ordinal()).putLong(chunk.count),
          in -> new Chunk(TYPES.get(in.getInt(0)), in.getLong(Integer.BYTES), null));

  static Chunk of(Vec own, ReduceOp op) {
    Objects.requireNonNull(own, "chunk");
    if (!op.serves(own.type())) {
      throw new IllegalArgumentException(op + " does not serve " + own.type());
    }
    return new Chunk(own.type(), own.count(), own);
  }

  boolean fits(Chunk other) {
    return type == other.type && count == other.count;
  }

  @Override
  public String toString() {
    return count + " " + type;
  }
}
