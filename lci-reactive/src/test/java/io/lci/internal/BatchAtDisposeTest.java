/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Inbox;
import io.lci.am.Port;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

/** A batch that is begun when its inbox is disposed of. */
class BatchAtDisposeTest {
  private final Operations operations = new Operations();

  @AfterEach
  void close() {
    operations.close();
  }

  /** Messages that were taken are not lost: the disposal comes between them and their batch. */
  @Test
  void whatWasTakenGoesOutBeforeTheEnd() {
    operations.turns(1);
    Inbox inbox = operations.runtime.inbox(Port.of(9, "batches"));
    operations.turns(1);
    List<Object> signals = new ArrayList<>();
    Disposable receiving =
        inbox
            .receiveBatches(
                10,
                message -> {
                  inbox.dispose();
                  return message.rank();
                })
            .subscribe(signals::add, signals::add, () -> signals.add("complete"));
    operations.turns(1);
    operations.core.message(0);
    operations.core.message(0);
    operations.turns(3);
    assertThat(signals).containsExactly(List.of(0, 0), "complete");
    assertThat(receiving.isDisposed()).isTrue();
  }
}
