/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.internal.lane.RecordView;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;

/** Hands on what a decoder makes of each message. */
final class DecodingTap<T> extends FusingTap<T> {
  private final Function<? super MessageView, ? extends T> decoder;

  DecodingTap(
      InboxImpl inbox,
      CoreSubscriber<? super T> actual,
      Function<? super MessageView, ? extends T> decoder) {
    super(inbox, actual);
    this.decoder = decoder;
  }

  @Override
  @Nullable T take(MessageView view) {
    try {
      return decode(decoder, view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      inbox.pause(this);
      fail(e);
      return null;
    }
  }

  /** What the decoder makes of it: never null, nor the view, which dies. */
  static <T> T decode(Function<? super MessageView, ? extends T> decoder, MessageView view) {
    T value = decoder.apply(view);
    if (value == null) {
      throw new IllegalStateException(
          "the decoder returned null; a message that is nothing to the program is to be filtered");
    }
    if (value instanceof RecordView) {
      throw RecordView.ended();
    }
    return value;
  }
}
