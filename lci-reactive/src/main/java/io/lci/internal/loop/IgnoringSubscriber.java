/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;

/**
 * Stands in for a subscriber where a handler takes the messages: the end of the stream is no news.
 */
public final class IgnoringSubscriber implements CoreSubscriber<Object>, Scannable {
  private final String name;

  public IgnoringSubscriber(String name) {
    this.name = name;
  }

  @Override
  public void onSubscribe(Subscription s) {}

  @Override
  public void onNext(Object value) {}

  @Override
  public void onError(Throwable error) {}

  @Override
  public void onComplete() {}

  @Override
  @SuppressWarnings("rawtypes")
  public @org.jspecify.annotations.Nullable Object scanUnsafe(Attr key) {
    return key == Attr.NAME ? name : null;
  }

  @Override
  public String stepName() {
    return name;
  }
}
