/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.internal.lane.RecordView;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/** Hands on what a decoder makes of each message. */
final class Decoding<T> extends Intake<T> {
  private final Function<? super MessageView, ? extends T> decoder;

  Decoding(Function<? super MessageView, ? extends T> decoder) {
    this.decoder = decoder;
  }

  @Override
  boolean isFusable() {
    return true;
  }

  @Override
  @Nullable T take(InboxTap<T> tap, MessageView view) {
    try {
      return decode(decoder, view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      tap.pauseAndFail(e);
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
