/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.LciRuntime;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;

/** Memory in which the longs of a call lie. */
enum Where {
  /** Used in place. */
  BUFFER {
    @Override
    Vec of(LciRuntime lci, long... values) {
      // Not aligned
      LciBuffer buffer = lci.memory().buffer(values.length * Long.BYTES + 3);
      Vec vec = Vec.bytes(buffer, 3, (long) values.length * Long.BYTES).as(DataType.I64);
      view(vec).put(values);
      return vec;
    }
  },
  ARRAY {
    @Override
    Vec of(LciRuntime lci, long... values) {
      return Vec.longs(values.clone());
    }
  },
  DIRECT {
    @Override
    Vec of(LciRuntime lci, long... values) {
      Vec vec = Vec.longs(ByteBuffer.allocateDirect(values.length * Long.BYTES));
      view(vec).put(values);
      return vec;
    }
  },
  HEAP {
    @Override
    Vec of(LciRuntime lci, long... values) {
      ByteBuffer buffer = ByteBuffer.allocate(values.length * Long.BYTES + 5).position(5);
      Vec vec = Vec.longs(buffer);
      view(vec).put(values);
      return vec;
    }
  };

  /** The values, in memory of this kind. */
  abstract Vec of(LciRuntime lci, long... values);

  /** Room for a result. */
  Vec room(LciRuntime lci, int count) {
    long[] untouched = new long[count];
    Arrays.fill(untouched, UNTOUCHED);
    return of(lci, untouched);
  }

  /** What room has that nobody wrote. */
  static final long UNTOUCHED = 0x5A5A_5A5A_5A5A_5A5AL;

  static long[] read(Vec vec) {
    if (vec.memory() instanceof long[] array) {
      return array.clone();
    }
    LongBuffer view = view(vec);
    long[] values = new long[view.remaining()];
    view.get(values);
    return values;
  }

  private static LongBuffer view(Vec vec) {
    ByteBuffer bytes =
        vec.memory() instanceof LciBuffer buffer ? buffer.view() : (ByteBuffer) vec.memory();
    return bytes
        .slice((int) vec.offset(), (int) vec.bytes())
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer();
  }
}
