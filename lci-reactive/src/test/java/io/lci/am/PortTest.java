/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** What can be a port of a program. */
class PortTest {
  /** The library has them: an inbox there would take the frames of streams. */
  @Test
  void theNumbersOfTheLibraryAreRefused() {
    for (int number : new int[] {32_766, 32_767}) {
      assertThatThrownBy(() -> Port.of(number, "mine"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1..32765")
          .hasMessageContaining(", which carries lci.");
    }
    assertThat(Port.of(32_765, "mine").number()).isEqualTo(Port.MAX_NUMBER);
  }

  @Test
  void aNameHasItsLimit() {
    assertThat(Port.of(1, "x".repeat(Port.MAX_NAME)).name()).hasSize(Port.MAX_NAME);
    for (String name : new String[] {"x".repeat(256), "\u00e4".repeat(128)}) {
      assertThatThrownBy(() -> Port.of(1, name))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("255 bytes");
    }
  }
}
