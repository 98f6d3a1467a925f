/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CoreInfoTest {

  /** Tests that run for one way of calling must not pass by the other one. */
  @Test
  void theCallsAreThoseThatTheRunIsFor() {
    CoreInfo info = LciRuntime.coreInfo();
    String expected = System.getProperty("lci.test.calls");
    if (expected == null) {
      assertThat(info.calls()).isIn("jna", "ffm");
    } else {
      assertThat(info.calls()).as(info.callsReason()).isEqualTo(expected);
    }
    assertThat(info.version()).matches("\\d+\\.\\d+\\.\\d+");
    assertThat(info.source()).isNotBlank();
    assertThat(info.callsReason()).isNotBlank();
  }
}
