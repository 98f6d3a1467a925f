/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A wrong layout is refused with both values. [V10] */
class LayoutTest {

  private static final int COUNT = LayoutId.values().length;

  static long[] rightValues() {
    long[] values = new long[COUNT];
    for (LayoutId id : LayoutId.values()) {
      values[id.index()] = id.expected();
    }
    values[LayoutId.CONTROL_OFFSET.index()] = 0;
    values[LayoutId.DEMAND_OFFSET.index()] = 384;
    values[LayoutId.DEMAND_COUNT.index()] = 64;
    values[LayoutId.SUBMISSION_OFFSET.index()] = 4096;
    values[LayoutId.SUBMISSION_COUNT.index()] = 256;
    values[LayoutId.COMPLETION_OFFSET.index()] = 32768;
    values[LayoutId.COMPLETION_COUNT.index()] = 1024;
    values[LayoutId.PACKET_PAYLOAD.index()] = 48;
    return values;
  }

  @Test
  void takesWhatTheLibraryChooses() {
    Layout layout = Layout.check(rightValues(), COUNT);
    assertThat(layout.controlOffset()).isEqualTo(0);
    assertThat(layout.demandOffset()).isEqualTo(384);
    assertThat(layout.demandCount()).isEqualTo(64);
    assertThat(layout.submissionOffset()).isEqualTo(4096);
    assertThat(layout.submissionCount()).isEqualTo(256);
    assertThat(layout.completionOffset()).isEqualTo(32768);
    assertThat(layout.completionCount()).isEqualTo(1024);
    assertThat(layout.packetPayload()).isEqualTo(48);
  }

  // Proves: V10
  @ParameterizedTest
  @EnumSource(LayoutId.class)
  void refusesAnyOtherValueWithBoth(LayoutId id) {
    long[] values = rightValues();
    boolean chosen = id.expected() == LayoutId.CHOSEN_BY_LIBRARY;
    long wrong = chosen ? 1L << 40 : id.expected() + 8;
    values[id.index()] = wrong;
    assertThatThrownBy(() -> Layout.check(values, COUNT))
        .isInstanceOf(LayoutMismatchException.class)
        .hasMessageContaining(id + ": the library has " + wrong)
        .hasMessageContaining("this bridge expects " + (chosen ? "0 to " : id.expected()));
  }

  @Test
  void namesEveryDifference() {
    long[] values = rightValues();
    values[LayoutId.RECORD_TAG.index()] = 17;
    values[LayoutId.DEMAND_SIZE.index()] = 33;
    assertThatThrownBy(() -> Layout.check(values, COUNT))
        .hasMessage(
            "RECORD_TAG: the library has 17, this bridge expects 16;"
                + " DEMAND_SIZE: the library has 33, this bridge expects 32");
  }

  @Test
  void anotherVersionIsTheOnlyComplaint() {
    long[] values = new long[COUNT];
    values[LayoutId.ABI.index()] = 9;
    assertThatThrownBy(() -> Layout.check(values, 3))
        .hasMessage("ABI: the library has 9, this bridge expects " + Layout.ABI_VERSION);
  }

  @Test
  void refusesAnotherNumberOfValues() {
    assertThatThrownBy(() -> Layout.check(rightValues(), COUNT + 1))
        .hasMessage("COUNT: the library has " + (COUNT + 1) + ", this bridge expects " + COUNT);
  }

  @Test
  void refusesARingThatWouldBreakWhenItsCountersWrap() {
    long[] values = rightValues();
    values[LayoutId.COMPLETION_COUNT.index()] = 1000;
    assertThatThrownBy(() -> Layout.check(values, COUNT)).hasMessageContaining("has 1000");
  }
}
