/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpParams;

/** Both sides in one JVM. They check what arrives. */
class JucxBenchTest {
  private static final Dose DOSE = new Dose(16 * Dose.CONCURRENCY);

  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource(names = {"AM_STREAM", "AM_ROUND_TRIP", "RMA_GET_8", "RMA_GET_64K"})
  void measures(Metric metric) {
    assumeTrue(hasUcx(), "no UCX here (Debian: libucx0)");
    BothSides.assertMeasured(
        () -> JucxBench.measure(folder, true, metric, DOSE),
        () -> JucxBench.measure(folder, false, metric, DOSE));
  }

  /** The binding comes with its jar, the library with the system. */
  private static boolean hasUcx() {
    try {
      new UcpContext(new UcpParams().requestAmFeature()).close();
      return true;
    } catch (LinkageError e) {
      return false;
    }
  }

  @Test
  void whatItHasNotIsRefused() {
    assertThatThrownBy(() -> JucxBench.measure(folder, true, Metric.RPC_STREAM, DOSE))
        .hasMessageContaining("rpc_stream is not offered");
    assertThat(folder).isEmptyDirectory();
  }
}
