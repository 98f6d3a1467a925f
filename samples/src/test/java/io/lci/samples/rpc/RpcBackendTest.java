/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.am.RetainedMessage;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One thread drives both ends. */
@ExtendWith(LciLeakCheck.class)
class RpcBackendTest {
  /** The library keeps a few messages for a port that is not open yet, and refuses more. */
  @ParameterizedTest
  @ValueSource(ints = {8, 1_000, 40_000})
  void aBufferIsTheCallersUntilItIsSentAndComesBackOnce(int bytes) {
    try (LciTestJob job = LciTestJob.start(2, RpcEcho.options(1));
        Closing closing = new Closing(job)) {
      List<LciBuffer> back = new ArrayList<>();
      List<LciBuffer> sent = new ArrayList<>();
      RpcBackend first = new RpcBackend(job.rank(0), 0, back::add);
      LciBuffer refused = numbered(job, bytes, 0);
      while (first.sendMsg(1, sent.size(), refused)) {
        sent.add(refused);
        refused = numbered(job, bytes, sent.size());
      }
      assertThat(back).doesNotContain(refused);

      RpcBackend second = new RpcBackend(job.rank(1), 0, unexpected -> sent.clear());
      while (!first.sendMsg(1, sent.size(), refused)) {
        step(first, second);
      }
      sent.add(refused);
      Set<Long> came = new HashSet<>();
      while (came.size() < sent.size() || back.size() < sent.size()) {
        step(first, second);
        RetainedMessage message = second.pollMsg();
        if (message != null) {
          assertThat(message.rank()).isZero();
          assertThat(message.size()).isEqualTo(bytes);
          assertThat(message.getLong(0)).isEqualTo(message.tag());
          assertThat(came.add(message.tag())).isTrue();
          message.release();
        }
      }
      assertThat(second.pollMsg()).isNull();
      assertThat(back).containsExactlyInAnyOrderElementsOf(sent);
      assertThat(first.isQuiet()).isTrue();
      assertThat(first.sentAtOnce() + first.sentLater()).isEqualTo(sent.size());
    }
  }

  private static LciBuffer numbered(LciTestJob job, int bytes, long number) {
    LciBuffer buffer = job.rank(0).memory().buffer(bytes);
    buffer.view().putLong(0, number);
    return buffer;
  }

  private static void step(RpcBackend first, RpcBackend second) {
    first.doBackgroundWork();
    second.doBackgroundWork();
  }

  @Test
  void aMessageToItself() {
    try (LciTestJob job = LciTestJob.start(1, RpcEcho.options(1));
        Closing closing = new Closing(job)) {
      List<LciBuffer> back = new ArrayList<>();
      RpcBackend only = new RpcBackend(job.rank(0), 0, back::add);
      LciBuffer buffer = job.rank(0).memory().buffer(100);
      RetainedMessage message = null;
      boolean sent = false;
      while (message == null) {
        sent = sent || only.sendMsg(0, 1, buffer);
        only.doBackgroundWork();
        message = only.pollMsg();
      }
      assertThat(message.size()).isEqualTo(100);
      message.release();
    }
  }

  /** Only the thread that drives the loops can close them while it lives. */
  private record Closing(LciTestJob job) implements AutoCloseable {
    @Override
    public void close() {
      job.ranks().forEach(LciRuntime::close);
    }
  }
}
