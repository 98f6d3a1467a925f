/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.rpc.RpcHandler;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** A loop takes only so many tasks a turn: what comes may be dispatched before those that wait. */
class BusyLoopTest {
  @Test
  void theRequestThatCameUnaskedIsHeardBeforeThoseThatWereAskedFor() {
    FakeNet net = new FakeNet(2);
    Heard<Message> requests = new Heard<>(0);
    net.rank(1)
        .serve(
            "f",
            RpcHandler.channel(
                all -> {
                  all.subscribe(requests);
                  return Flux.never();
                }));
    net.rank(0).publish("s", Flux.never(), Codec.INT);
    Heard<Integer> other = new Heard<>(1);
    net.rank(1).subscribe(0, "s", Codec.INT).subscribe(other);
    Heard<Message> answers = new Heard<>(1);
    net.rank(0).requestChannel(1, "f", Flux.range(1, 3).map(Payload::ofInt)).subscribe(answers);
    net.run();
    assertThat(requests.items).isEmpty();
    net.busy.add(1);
    other.request(1); // the session has something to send
    requests.request(3); // the first is held, and handed on by a task behind that
    net.runTask(1);
    net.run();
    net.busy.clear();
    net.run();
    assertThat(requests.items.stream().map(m -> m.getInt(0))).containsExactly(1, 2, 3);
    answers.cancel();
    other.cancel();
    net.run();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** Its end is told by a task, and an answer may come before that. */
  @Test
  void whatIsOnItsWayAndForgottenDoesNotFailByItsAnswer() {
    FakeNet net = new FakeNet(2);
    net.busy.add(0);
    Heard<Void> heard = new Heard<>(1);
    net.rank(0).fireAndForget(1, "nobody serves it", Payload.empty()).subscribe(heard);
    while (net.sent.isEmpty()) {
      net.runTask(0);
      net.settle();
    }
    assertThat(heard.hasEnded()).isFalse();
    net.run();
    assertThat(net.sent).extracting(FakeNet.Packet::type).contains(FrameType.ERROR);
    net.busy.clear();
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.completed).isTrue();
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
