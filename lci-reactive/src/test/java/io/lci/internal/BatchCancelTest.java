/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.am.Inbox;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;

/** A subscriber of batches is cancelled after messages came and before their batch went out. */
class BatchCancelTest {
  private final Operations operations = new Operations();
  private final List<Object> received = new ArrayList<>();
  private Inbox inbox;
  private Disposable taking;

  @BeforeEach
  void open() {
    inbox = operations.runtime.inbox(Port.of(7, "batches"));
  }

  @AfterEach
  void close() {
    operations.close();
  }

  /** An operation ends in the turn in which two messages come; its subscriber is told first. */
  private void cancelBehindTwoMessages() {
    operations.answer(Codes.POSTED);
    operations.runtime.post(operations.op(Kind.SEND, 1)).subscribe(c -> taking.dispose());
    operations.turns(2);
    operations.posted.keySet().forEach(c -> operations.core.ended(c, Codes.DONE, Operations.PEER));
    operations.core.message(0);
    operations.core.message(0);
    operations.turns(1);
    assertThat(taking.isDisposed()).isTrue();
    assertThat(received).isEmpty();
  }

  @Test
  void messagesStayForTheNext() {
    taking = inbox.receiveBatches(10).subscribe(received::addAll);
    cancelBehindTwoMessages();
    assertThat(inbox.depth()).isEqualTo(2);
    List<List<Message>> next = new ArrayList<>();
    taking = inbox.receiveBatches(10).subscribe(next::add);
    operations.turns(1);
    assertThat(next).singleElement().asList().hasSize(2);
    operations.core.message(0);
    operations.turns(1);
    assertThat(next).hasSize(2);
    taking.dispose();
  }

  /** The next one may be served before the cancel comes to the loop, and may never ask again. */
  @Test
  void messagesDoNotStayForWhoIsThereAlready() {
    taking = inbox.receiveBatches(10).subscribe(received::addAll);
    List<List<Message>> next = new ArrayList<>();
    Payload changing =
        new Payload() {
          @Override
          public int size() {
            return 0;
          }

          @Override
          public void writeTo(PayloadWriter out) { // in an encoder a cancel is put off
            taking.dispose();
            taking = inbox.receiveBatches(10).subscribe(next::add);
          }
        };
    operations.turns(1);
    operations.answer(Codes.POSTED);
    operations
        .runtime
        .post(operations.op(Kind.SEND, 1))
        .subscribe(
            c ->
                operations
                    .runtime
                    .loops
                    .all
                    .get(0)
                    .poster()
                    .submit(Op.am(Operations.PEER, Operations.PORT, changing)));
    operations.turns(2);
    operations.posted.keySet().forEach(c -> operations.core.ended(c, Codes.DONE, Operations.PEER));
    operations.core.message(0);
    operations.turns(3);
    assertThat(received).isEmpty();
    assertThat(next).singleElement().asList().hasSize(1);
    assertThat(inbox.depth()).isZero();
    taking.dispose();
  }

  @Test
  void decodedElementsAreDiscarded() {
    List<Integer> discarded = new ArrayList<>();
    taking =
        inbox
            .receiveBatches(10, m -> m.rank() + 42)
            .doOnDiscard(Integer.class, discarded::add)
            .subscribe(received::addAll);
    cancelBehindTwoMessages();
    assertThat(discarded).containsExactly(42, 42);
    assertThat(inbox.depth()).isZero();
  }

  /** Also the one whose decoder cancels. */
  @ParameterizedTest
  @ValueSource(ints = {2, 10})
  void whatADecoderMakesThatCancelsIsDiscarded(int max) {
    List<Integer> discarded = new ArrayList<>();
    AtomicInteger decoded = new AtomicInteger();
    taking =
        inbox
            .receiveBatches(
                max,
                m -> {
                  int number = decoded.getAndIncrement();
                  if (number == 1) {
                    taking.dispose();
                  }
                  return number;
                })
            .doOnDiscard(Integer.class, discarded::add)
            .subscribe(received::addAll);
    operations.turns(1);
    operations.core.message(0);
    operations.core.message(0);
    operations.turns(2);
    assertThat(received).isEmpty();
    assertThat(discarded).containsExactly(0, 1);
    assertThat(inbox.depth()).isZero();
  }
}
