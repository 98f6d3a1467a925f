/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostResult;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Whatever a peer's death ends, the error names the peer. */
class PeerFailureTest {
  private static final Port PORT = Port.of(5, "failure");
  private static final int DEAD = 2;

  /** What the core gets back with the signal of the first operation that was posted. */
  private static final long FIRST = 1;

  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build());
  private final List<Throwable> errors = new ArrayList<>();
  private final List<Disposable> started = new ArrayList<>();

  @AfterEach
  void close() {
    started.forEach(Disposable::dispose);
    runtime.close();
  }

  private void turns(int count) {
    for (int i = 0; i < count; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  private void start(Mono<?> operation) {
    started.add(operation.subscribe(value -> {}, errors::add));
    turns(2);
  }

  private void theErrorNames(String operation) {
    turns(2);
    assertThat(errors)
        .singleElement()
        .isInstanceOfSatisfying(
            PeerFailedException.class,
            e -> {
              assertThat(e.rank()).isEqualTo(DEAD);
              assertThat(e).hasMessageStartingWith(operation + " rank " + DEAD + ' ');
            });
  }

  @Test
  void barrierUnderWay() {
    core.script = submitted -> Codes.POSTED;
    start(runtime.barrier());
    core.ended(FIRST, Codes.ERR_PEER_FAILED, DEAD);
    theErrorNames("barrier");
  }

  @Test
  void barrierPostedAfterTheDeath() {
    core.dead.add(DEAD);
    core.script = submitted -> Codes.ERR_PEER_FAILED;
    start(runtime.barrier());
    theErrorNames("barrier");
  }

  @Test
  void barrierPostedByAPoster() {
    core.script = submitted -> Codes.POSTED;
    turns(1); // the poster is for the loop's thread
    runtime.loops.all.get(0).poster().submit(Op.barrier().onError(errors::add));
    turns(2);
    core.ended(FIRST, Codes.ERR_PEER_FAILED, DEAD);
    theErrorNames("barrier");
  }

  @Test
  void receiveFromAnyoneThatHadMatched() {
    core.script = submitted -> Codes.POSTED;
    start(runtime.tagged().receive(Op.ANY_SOURCE, 4));
    core.ended(FIRST, Codes.ERR_PEER_FAILED, DEAD);
    theErrorNames("receive");
  }

  @Test
  void receiveFromIt() {
    core.script = submitted -> Codes.POSTED;
    start(runtime.tagged().receive(DEAD, 4));
    core.ended(FIRST, Codes.ERR_PEER_FAILED, DEAD);
    theErrorNames("receive");
  }

  // Proves: U4 D16
  @Test
  void postedOperation() {
    core.script = submitted -> Codes.POSTED;
    start(
        runtime.post(
            Op.am(DEAD, PORT, Payload.empty()).advanced(a -> a.semantic(Op.Semantic.NETWORK))));
    core.died(DEAD);
    theErrorNames("posted operation");
  }

  /** Another loop's device may have its message: the core says when there is none. */
  @Test
  void receiveThatTheCoreHasNotEnded() {
    List<Message> received = new ArrayList<>();
    core.script = submitted -> Codes.POSTED;
    start(runtime.tagged().receive(DEAD, 4).doOnNext(received::add));
    core.died(DEAD);
    turns(2);
    assertThat(errors).isEmpty();
    core.ended(FIRST, Codes.DONE, DEAD);
    turns(2);
    assertThat(errors).isEmpty();
    assertThat(received).singleElement().satisfies(m -> assertThat(m.rank()).isEqualTo(DEAD));
  }

  /** What the rank sent may lie in the core: only who posts the receive hears whether it does. */
  @Test
  void waitingReceive() {
    List<Message> received = new ArrayList<>();
    core.script = submitted -> Codes.RETRY_NOMEM;
    start(runtime.tagged().receive(DEAD, 4).doOnNext(received::add));
    core.died(DEAD);
    turns(2);
    assertThat(errors).isEmpty();
    core.script = submitted -> Codes.POSTED;
    core.generation++;
    turns(2);
    List<ScriptedCore.Submitted> again = core.batches.get(core.batches.size() - 1);
    core.ended(again.get(0).context(), Codes.DONE, DEAD);
    turns(2);
    assertThat(errors).isEmpty();
    assertThat(received).singleElement().satisfies(m -> assertThat(m.rank()).isEqualTo(DEAD));
  }

  @Test
  void waitingReceiveForWhichNothingCame() {
    core.script = submitted -> Codes.RETRY_NOMEM;
    start(runtime.tagged().receive(DEAD, 4));
    core.died(DEAD);
    core.script = submitted -> Codes.ERR_PEER_FAILED;
    core.generation++;
    theErrorNames("receive");
  }

  // Proves: U4 D16
  @Test
  void waitingOperation() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    start(runtime.post(Op.am(DEAD, PORT, Payload.ofLong(1))));
    core.died(DEAD);
    theErrorNames("am");
  }

  // Proves: U4 D16
  @Test
  void refusedOperation() {
    core.script = submitted -> Codes.ERR_PEER_FAILED;
    start(runtime.tagged().send(DEAD, 7, Payload.ofLong(1)));
    theErrorNames("send");
  }

  @Test
  void elementOfABulkSend() {
    core.script = submitted -> Codes.ERR_PEER_FAILED;
    List<LciException> results = new ArrayList<>();
    started.add(
        runtime
            .sender(PORT)
            .route(Flux.just(1), n -> DEAD, (n, out) -> out.putInt(n))
            .map(PostResult::error)
            .subscribe(results::add));
    turns(3);
    errors.addAll(results);
    theErrorNames("am");
  }
}
