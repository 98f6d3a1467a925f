/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** A rank that others count as failed: everything ends, by an error that says so. */
class FencedTest {
  private static final Port PORT = Port.of(5, "fenced");

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final List<Throwable> errors = new ArrayList<>();

  private void turns() {
    for (int i = 0; i < 4; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  private void start(Mono<?> operation) {
    operation.subscribe(value -> {}, errors::add);
    turns();
  }

  private static void saysSo(Throwable error) {
    assertThat(error)
        .isInstanceOfSatisfying(
            LciClosedException.class,
            closed -> {
              assertThat(closed.isFenced()).isTrue();
              assertThat(closed.code()).isEqualTo("error_fenced");
              assertThat(closed).hasMessageContaining("counts as failed");
            });
  }

  @Test
  void whatIsUnderWayEndsByIt() {
    core.script = submitted -> Codes.POSTED;
    start(runtime.barrier());
    core.ended(1, Codes.ERR_FENCED, 2);
    turns();
    assertThat(errors).singleElement().satisfies(FencedTest::saysSo);
    runtime.close();
  }

  @Test
  void whatWaitsAndTheRuntimeEndByIt() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    start(runtime.post(Op.am(2, PORT, Payload.empty())));
    runtime.onClose().subscribe(none -> {}, errors::add);
    core.fenced(2);
    core.fenced(3);
    turns();
    assertThat(errors).hasSize(2).allSatisfy(FencedTest::saysSo);
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(core.closes).isEqualTo(1);
    start(runtime.post(Op.am(2, PORT, Payload.empty())));
    assertThat(errors).hasSize(3).allSatisfy(FencedTest::saysSo);
    assertThatThrownBy(runtime::close).satisfies(FencedTest::saysSo);
  }
}
