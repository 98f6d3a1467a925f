/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.lane.PooledBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Too little direct memory for one operation: that operation fails, and nothing else. */
@ExtendWith(LciLeakCheck.class)
class PooledBufferTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static java.nio.ByteBuffer refuse(int bytes) {
    throw new OutOfMemoryError("Cannot reserve " + bytes + " bytes of direct buffer memory");
  }

  @Test
  void saysWhatToDo() {
    assertThatThrownBy(() -> PooledBuffer.direct(77, PooledBufferTest::refuse))
        .isInstanceOf(PooledBuffer.NoMemory.class)
        .hasMessageContaining("77 bytes")
        .hasMessageContaining("MaxDirectMemorySize")
        .hasCauseInstanceOf(OutOfMemoryError.class);
  }

  @Test
  void failsTheOperationAlone() {
    Payload hungry =
        new Payload() {
          @Override
          public int size() {
            return 8;
          }

          @Override
          public void writeTo(PayloadWriter out) {
            PooledBuffer.direct(2_000_000_000, PooledBufferTest::refuse);
          }
        };
    try (LciTestJob job = LciTestJob.start(1)) {
      assertThatThrownBy(() -> job.rank(0).post(Op.send(0, 1, hungry)).block(LIMIT))
          .isInstanceOf(ResourceExhaustedException.class)
          .hasMessageContaining("2000000000");
      job.rank(0).tagged().send(0, 1, Payload.ofLong(1)).block(LIMIT);
      assertThat(job.rank(0).tagged().receive(0, 1).block(LIMIT).getLong(0)).isEqualTo(1);
    }
  }
}
