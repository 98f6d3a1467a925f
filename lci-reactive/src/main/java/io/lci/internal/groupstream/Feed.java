/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;

/** The source of a member, and how its items come to where they are sent. Loop only. */
final class Feed<T> {
  private final GroupStream<T, ?> stream;
  private final Shape shape;
  private final Delivery delivery;
  private final Intake<T> intake;

  Feed(GroupStream<T, ?> stream, Shape shape, Delivery delivery, CoreSubscriber<?> actual) {
    this.stream = stream;
    this.shape = shape;
    this.delivery = delivery;
    this.intake = new Intake<>(stream.loop, stream, actual.currentContext(), stream::discard);
  }

  /** The stream has begun. */
  void begin(Publisher<? extends T> source) {
    if (shape.isSource(shape.self())) {
      intake.subscribeTo(source);
    }
  }

  /** Takes what has come. Calls user code. */
  void take(Sending<T> sending) {
    boolean last = intake.hasEnded();
    while (!stream.hasEnded()) {
      T item = intake.poll();
      if (item == null) {
        break;
      }
      if (delivery.uneven() != null) {
        stream.discard(item);
      } else {
        take(sending, item);
      }
    }
    if (last && !stream.hasEnded()) {
      ended(sending);
    }
  }

  private void take(Sending<T> sending, T item) {
    try {
      sending.take(item, stream::discard);
    } catch (Throwable e) {
      stream.discard(item);
      throw e;
    }
    if (stream.hasEnded()) { // by the code that names the owner
      sending.clear(stream::discard);
    }
  }

  private void ended(Sending<T> sending) {
    Throwable error = intake.error();
    if (error != null && delivery.uneven() == null) {
      stream.fault(error);
    } else {
      sending.completed();
    }
  }

  /** Asks for as many as may be sent. */
  void ask(Sending<T> sending, @Nullable InFlow<T> own) {
    if (intake.isThere()) {
      int items = sending.toAsk(own);
      if (items > 0) {
        intake.request(items);
        stream.schedule();
      }
    }
  }

  /** Takes nothing more of the source. */
  void cancel() {
    intake.cancel();
  }

  /** The stream has ended: lets go what came since. */
  void clear() {
    intake.discardQueue();
  }
}
