/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.LciRuntime;
import io.lci.collective.Vec;
import io.lci.rma.LciBuffer;
import java.util.Arrays;
import java.util.function.IntFunction;

/** Numbers in an array, or in memory from which peers may read. */
interface Doubles {
  /** What makes so many: arrays, or shared {@code LciBuffer}s of this runtime. */
  static IntFunction<Doubles> places(LciRuntime lci, boolean heap) {
    return count ->
        heap
            ? new OfHeap(new double[count])
            : new OfBuffer(lci.memory().sharedBuffer(Math.max(1, count) * Double.BYTES), count);
  }

  void fill(double value);

  double get(int index);

  /** The first so many of them. */
  Vec first(int count);

  /** All of them. */
  Vec all();

  /** In an array. */
  record OfHeap(double[] array) implements Doubles {
    @Override
    public void fill(double value) {
      Arrays.fill(array, value);
    }

    @Override
    public double get(int index) {
      return array[index];
    }

    @Override
    public Vec first(int count) {
      return Vec.doubles(array, 0, count);
    }

    @Override
    public Vec all() {
      return first(array.length);
    }
  }

  /** In a buffer that has room for them. */
  record OfBuffer(LciBuffer buffer, int count) implements Doubles {
    @Override
    public void fill(double value) {
      for (int i = 0; i < count; i++) {
        buffer.view().putDouble(i * Double.BYTES, value);
      }
    }

    @Override
    public double get(int index) {
      return buffer.view().getDouble(index * Double.BYTES);
    }

    @Override
    public Vec first(int number) {
      return Vec.doubles(buffer, 0, number);
    }

    @Override
    public Vec all() {
      return first(count);
    }
  }
}
