/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.Message;
import io.lci.am.MessageView;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * Hands on what came together, up to a number: a batch is full, or there is nothing more in this
 * turn. Never waits for more.
 *
 * @param <T> element of the batches; {@link Message} without a decoder
 */
final class Batching<T> extends Intake<List<T>> {
  private final int max;
  private final @Nullable Function<? super MessageView, ? extends T> decoder;
  private List<T> batch = new ArrayList<>();

  Batching(int max, @Nullable Function<? super MessageView, ? extends T> decoder) {
    this.max = max;
    this.decoder = decoder;
  }

  /** The demand is of batches; the one that is begun has room for the rest. */
  @Override
  long allowance(InboxTap<List<T>> tap) {
    long demand = tap.demand;
    return demand >= Long.MAX_VALUE / max ? Long.MAX_VALUE : demand * max - batch.size();
  }

  @Override
  @Nullable List<T> take(InboxTap<List<T>> tap, MessageView view) {
    List<T> begun = batch;
    T value;
    try {
      value = decode(view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      tap.settle(); // what came before it
      tap.pauseAndFail(e);
      return null;
    }
    if (batch != begun) { // the decoder has cancelled
      Operators.onDiscard(value, tap.actual.currentContext());
      return null;
    }
    batch.add(value);
    if (batch.size() == max) {
      return tap.isOver() ? null : rest(); // somebody else may have cancelled
    }
    if (batch.size() == 1) {
      tap.schedule(); // after the records of this turn
    }
    return null;
  }

  @SuppressWarnings("unchecked") // without a decoder, T is Message
  private T decode(MessageView view) {
    return decoder == null ? (T) view.copy() : Decoding.decode(decoder, view);
  }

  @Override
  @Nullable List<T> rest() {
    if (batch.isEmpty()) {
      return null;
    }
    List<T> full = batch;
    batch = new ArrayList<>();
    return Collections.unmodifiableList(full);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  void cancelled(InboxTap<List<T>> tap) {
    if (decoder == null) {
      tap.keepAgain((List<Message>) batch); // cancel is pause
    } else {
      Operators.onDiscardMultiple(batch, tap.actual.currentContext());
    }
    batch = new ArrayList<>();
  }
}
