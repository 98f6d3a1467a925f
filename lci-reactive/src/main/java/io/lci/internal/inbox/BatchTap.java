/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.Message;
import io.lci.am.MessageView;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * Hands on what came together, up to a number: a batch is full, or there is nothing more in this
 * turn. Never waits for more.
 *
 * @param <T> element of the batches; {@link Message} without a decoder
 */
final class BatchTap<T> extends InboxTap<List<T>> {
  private final int max;
  private final @Nullable Function<? super MessageView, ? extends T> decoder;
  private List<T> batch = new ArrayList<>();

  BatchTap(
      InboxImpl inbox,
      CoreSubscriber<? super List<T>> actual,
      int max,
      @Nullable Function<? super MessageView, ? extends T> decoder) {
    super(inbox, actual);
    this.max = max;
    this.decoder = decoder;
  }

  /** The demand is of batches; the one that is begun has room for the rest. */
  @Override
  long allowance() {
    return demand >= Long.MAX_VALUE / max ? Long.MAX_VALUE : demand * max - batch.size();
  }

  @Override
  void message(MessageView view) {
    T value;
    try {
      value = decode(view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      settle(); // what came before it
      inbox.pause(this);
      fail(e);
      return;
    }
    batch.add(value);
    if (batch.size() == max) {
      settle();
    } else if (batch.size() == 1) {
      schedule(); // after the records of this turn
    }
  }

  @SuppressWarnings("unchecked") // without a decoder, T is Message
  private T decode(MessageView view) {
    return decoder == null ? (T) view.copy() : DecodingTap.decode(decoder, view);
  }

  @Override
  void settle() {
    if (!batch.isEmpty() && !isOver()) {
      List<T> full = batch;
      batch = new ArrayList<>();
      emit(Collections.unmodifiableList(full));
    }
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void onCancel() {
    if (decoder == null) {
      inbox.keepAgain((List<Message>) batch); // cancel is pause
    } else {
      Operators.onDiscardMultiple(batch, actual.currentContext());
    }
    batch = new ArrayList<>();
    super.onCancel();
  }
}
