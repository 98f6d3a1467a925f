/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.PostOptions;
import io.lci.PostResult;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/** What user code throws ends what it belongs to, and nothing else, also if it has no text. */
class UnspeakableTest {
  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  private static <T> T fails() {
    throw new Unspeakable();
  }

  /** Its error is of this library, names what was thrown, and has it as cause. */
  private void assertEnds(Publisher<?> publisher) {
    operations.answer(Codes.DONE);
    Flux.from(publisher).subscribe(result -> {}, errors::add);
    operations.turns(4);
    assertThat(operations.runtime.isDisposed()).isFalse();
    assertThat(errors).hasSize(1);
    assertThat(errors.get(0)).isInstanceOf(LciException.class);
    assertThat(errors.get(0).getMessage()).contains(Unspeakable.class.getName());
    assertThat(errors.get(0).getCause()).isExactlyInstanceOf(Unspeakable.class);
  }

  @Test
  void anEncoderEndsItsBulkSend() {
    Sender sender = operations.runtime.sender(Operations.PORT);
    assertEnds(sender.sendAll(1, Flux.range(0, 3), (n, out) -> fails()));
  }

  @Test
  void aRoutingFunctionEndsItsBulkSend() {
    SenderOptions stopping = SenderOptions.builder().stopOnError(true).build();
    Sender sender = operations.runtime.sender(Operations.PORT, stopping);
    Flux<PostResult<Integer>> results =
        sender.route(Flux.range(0, 3), n -> UnspeakableTest.<Integer>fails(), (n, out) -> {});
    assertEnds(results);
  }

  @Test
  void aFunctionOfOperationsEndsItsBulkPost() {
    assertEnds(
        operations.runtime.post(
            Flux.range(0, 3), n -> fails(), PostOptions.builder().stopOnError(true).build()));
  }

  /** Logs ask for its text: the loop would end, and with it the runtime. */
  @Test
  void aSubscriberKeepsItsLoopFromNothing() {
    operations
        .runtime
        .peerEvents()
        .subscribe(
            new CoreSubscriber<Object>() {
              @Override
              public void onSubscribe(Subscription s) {
                s.request(1);
              }

              @Override
              public void onNext(Object event) {
                fails();
              }

              @Override
              public void onError(Throwable error) {}

              @Override
              public void onComplete() {}
            });
    operations.core.died(2);
    operations.turns(4);
    assertThat(operations.runtime.isDisposed()).isFalse();
    assertThat(operations.runtime.snapshot().counter("loop_uncaught")).isEqualTo(1);
  }
}
