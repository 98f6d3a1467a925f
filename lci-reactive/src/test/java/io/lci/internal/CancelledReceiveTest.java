/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

/** A receive that is cancelled while the core posts it. */
class CancelledReceiveTest {
  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());

  @Test
  void isCancelledInTheCoreAndTheLoopGoesOn() {
    cancelAnsweredWith(Codes.DONE);
  }

  @Test
  void mayHaveBeenMatchedMeanwhile() {
    cancelAnsweredWith(Codes.ERR_NOT_PENDING);
  }

  private void cancelAnsweredWith(int code) {
    Disposable[] receive = new Disposable[1];
    core.script =
        submitted -> {
          if (submitted.op() != Codes.OP_RECV) {
            return code;
          }
          receive[0].dispose();
          return Codes.POSTED;
        };
    receive[0] = runtime.tagged().receive(0, 5).subscribe();
    for (int i = 0; i < 4; i++) {
      runtime.loops.all.get(0).poll();
    }
    assertThat(core.submitted())
        .extracting(ScriptedCore.Submitted::op)
        .containsExactly((int) Codes.OP_RECV, (int) Codes.OP_CANCEL);
    assertThat(runtime.snapshot().counter("loop_uncaught")).isZero();
    runtime.close();
  }
}
