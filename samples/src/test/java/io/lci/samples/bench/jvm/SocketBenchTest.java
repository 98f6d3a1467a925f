/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Both sides of the peers that need a socket, in one JVM. They check what arrives. */
class SocketBenchTest {
  private static final Dose DOSE = new Dose(16 * Dose.CONCURRENCY);

  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"OP_WINDOW", "RMA_GET_8", "RMA_GET_64K", "GARBAGE_HANDLER", "GARBAGE_MESSAGE"})
  void rsocketMeasures(Metric metric) {
    Meeting meeting = new Meeting(folder, false);
    BothSides.assertMeasured(
        () -> RSocketBench.measure(meeting, true, metric, DOSE),
        () -> RSocketBench.measure(meeting, false, metric, DOSE));
  }

  @ParameterizedTest
  @EnumSource(names = {"AM_STREAM", "AM_ROUND_TRIP", "GARBAGE_DECODER"})
  void nettyMeasures(Metric metric) {
    Meeting meeting = new Meeting(folder, false);
    BothSides.assertMeasured(
        () -> NettyBench.measure(meeting, true, metric, DOSE),
        () -> NettyBench.measure(meeting, false, metric, DOSE));
  }

  @Test
  void bothMeetAtUnixDomainSockets() {
    Meeting here = new Meeting(folder, true);
    BothSides.assertMeasured(
        () -> NettyBench.measure(here, true, Metric.AM_STREAM, DOSE),
        () -> NettyBench.measure(here, false, Metric.AM_STREAM, DOSE));
    assertThat(folder.resolve("peer.port").toFile().delete()).isTrue();
    BothSides.assertMeasured(
        () -> RSocketBench.measure(here, true, Metric.RPC_RESPONSE, DOSE),
        () -> RSocketBench.measure(here, false, Metric.RPC_RESPONSE, DOSE));
  }

  @Test
  void whatAPeerHasNotIsRefused() {
    Meeting meeting = new Meeting(folder, false);
    assertThatThrownBy(() -> NettyBench.measure(meeting, true, Metric.RPC_STREAM, DOSE))
        .hasMessageContaining("rpc_stream is not offered");
    assertThatThrownBy(() -> RSocketBench.measure(meeting, false, Metric.RMA_GET_8, DOSE))
        .hasMessageContaining("rma_get_8 is not offered");
  }
}
