/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SlotTest {
  private static final int BYTES = 512;

  private final ByteBuffer space = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);

  @Test
  void aSlotIsUnusedThenLiveThenRemoved() {
    assertThat(read().state()).isEqualTo(Slot.State.UNUSED);
    Slot.writeLive(space, new Entry("küche", 7, new byte[] {1, 2, 3}));
    assertThat(read().state()).isEqualTo(Slot.State.LIVE);
    assertThat(read().entry().key()).isEqualTo("küche");
    assertThat(read().entry().version()).isEqualTo(7);
    assertThat(read().entry().value()).containsExactly(1, 2, 3);
    Slot.writeRemoved(space, 8);
    assertThat(read()).isEqualTo(new Slot(Slot.State.REMOVED, null));
  }

  @Test
  void theLargestAndTheEmptyValueFit() {
    Slot.writeLive(space, new Entry("k", 1, new byte[BYTES - Slot.HEADER - 1]));
    assertThat(read().entry().value()).hasSize(BYTES - Slot.HEADER - 1);
    Slot.writeLive(space, new Entry("k", 2, new byte[0]));
    assertThat(read().entry().value()).isEmpty();
  }

  /** A copy with the first bytes of one value and the others of the next, at every border. */
  @Test
  void aCopyOfTwoValuesIsTorn() {
    Slot.writeLive(space, new Entry("key", 1, "the first value".getBytes(UTF_8)));
    byte[] before = space.array().clone();
    Slot.writeLive(space, new Entry("key", 2, "the other value".getBytes(UTF_8)));
    byte[] after = space.array().clone();
    int end = Slot.HEADER + "key".length() + "the first value".length();
    int torn = 0;
    for (int border = 1; border < end; border++) {
      byte[] copy = after.clone();
      System.arraycopy(before, 0, copy, 0, border);
      Slot slot = Slot.read(copy);
      if (slot.state() == Slot.State.TORN) {
        torn++;
      } else { // the bytes on one side of the border are the same in both
        assertThat(slot.entry().version()).isBetween(1L, 2L);
        assertThat(copy).isIn(before, after);
      }
    }
    assertThat(torn).isPositive();
  }

  @Test
  void anyBytesAreReadWithoutHarm() {
    Random random = new Random(4711);
    for (int i = 0; i < 10_000; i++) {
      byte[] copy = new byte[BYTES];
      random.nextBytes(copy);
      if (i % 2 == 0) {
        ByteBuffer.wrap(copy)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(16, random.nextInt(BYTES))
            .putInt(20, random.nextInt(BYTES));
      }
      assertThat(Slot.read(copy).state()).isEqualTo(Slot.State.TORN);
    }
  }

  private Slot read() {
    return Slot.read(space.array().clone());
  }
}
