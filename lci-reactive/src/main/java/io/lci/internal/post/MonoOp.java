/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** An operation as a Mono: each subscription is one {@link OpAttempt}. */
public final class MonoOp<T> extends Mono<T> {
  private final Outbox outbox;
  private final Op op;
  private final OpResult result;

  public MonoOp(Outbox outbox, Op op, OpResult result) {
    this.outbox = outbox;
    this.op = op;
    this.result = result;
  }

  @Override
  public void subscribe(CoreSubscriber<? super T> actual) {
    if (outbox.loop.isDisposed()) {
      Operators.error(actual, outbox.loop.closed(op.toString()));
    } else {
      actual.onSubscribe(new OpAttempt<>(outbox, actual, op, result, null));
    }
  }
}
