/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Message;
import org.junit.jupiter.api.Test;

/** A message that was copied out. */
class MessageTest {
  private static final Message FOUR_BYTES = new Message(0, 0, new byte[] {1, 2, 3, 4});

  @Test
  void whoReadsBeyondTheEndIsToldItsSize() {
    assertThatThrownBy(() -> FOUR_BYTES.getLong(0))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("length 4");
    assertThatThrownBy(() -> FOUR_BYTES.getInt(1))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("length 4");
    assertThatThrownBy(() -> FOUR_BYTES.getShort(3))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("length 4");
    assertThat(FOUR_BYTES.getInt(0)).isEqualTo(0x04030201);
    assertThat(FOUR_BYTES.getShort(2)).isEqualTo((short) 0x0403);
  }
}
