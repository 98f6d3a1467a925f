/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import java.util.ArrayList;
import java.util.List;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;

/** A subscriber that writes down what it hears, and asks for what the test says. */
final class Heard<T> extends BaseSubscriber<T> {
  final List<T> items = new ArrayList<>();
  Throwable error;
  boolean completed;
  private final long first;

  Heard(long first) {
    this.first = first;
  }

  boolean hasEnded() {
    return completed || error != null;
  }

  @Override
  protected void hookOnSubscribe(Subscription subscription) {
    if (first > 0) {
      request(first);
    }
  }

  @Override
  protected void hookOnNext(T value) {
    if (hasEnded()) {
      throw new AssertionError("an item after the end: " + value);
    }
    items.add(value);
  }

  @Override
  protected void hookOnComplete() {
    if (hasEnded()) {
      throw new AssertionError("a second end");
    }
    completed = true;
  }

  @Override
  protected void hookOnError(Throwable reason) {
    if (hasEnded()) {
      throw new AssertionError("a second end", reason);
    }
    error = reason;
  }
}
