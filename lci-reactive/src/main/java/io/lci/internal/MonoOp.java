/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** An operation as a Mono: each subscription is one {@link OpRun}. */
final class MonoOp<T> extends Mono<T> {
  private final EventLoop loop;
  private final Op op;
  private final OpRun.Result result;

  MonoOp(EventLoop loop, Op op, OpRun.Result result) {
    this.loop = loop;
    this.op = op;
    this.result = result;
  }

  @Override
  public void subscribe(CoreSubscriber<? super T> actual) {
    if (loop.isDisposed()) {
      Operators.error(actual, loop.closed(op.toString()));
    } else {
      actual.onSubscribe(new OpRun<>(loop, actual, op, result));
    }
  }
}
