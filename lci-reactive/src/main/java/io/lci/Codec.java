/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Encoder;
import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;
import java.util.Objects;
import java.util.function.Function;

/**
 * Turns an item into bytes, and bytes into an item: for messages of a {@link io.lci.am.Sender} and
 * an {@link io.lci.am.Inbox}, for {@link io.lci.stream.Streams} and for {@link io.lci.rpc.Rpc}.
 * Called on a loop, so it must be quick and must not block, and it may be called by several loops
 * at a time. The rules of {@link Encoder} hold for {@link #encode}. No serialisation library comes
 * with this; wrap your own by {@link #of}.
 *
 * @param <T> type of item
 * @since 0.1
 */
public interface Codec<T> extends Encoder<T> {
  /** Bytes as they are. The array is not copied before its turn comes. */
  Codec<byte[]> BYTES = of((bytes, out) -> out.putBytes(bytes), MessageView::toByteArray);

  /** Text as UTF-8. */
  Codec<String> UTF8 = of((text, out) -> out.putUtf8(text), MessageView::utf8);

  /** Four bytes, little-endian. */
  Codec<Integer> INT = of((value, out) -> out.putInt(value), in -> in.getInt(0));

  /** Eight bytes, little-endian. */
  Codec<Long> LONG = of((value, out) -> out.putLong(value), in -> in.getLong(0));

  /** Eight bytes, little-endian. */
  Codec<Double> DOUBLE = of((value, out) -> out.putDouble(value), in -> in.getDouble(0));

  /**
   * Reads an item.
   *
   * @param in its bytes, valid only during the call; {@link MessageView#rank()} is the sender, the
   *     tag that of the message, 0 for streams and calls. Every access is checked against the size
   * @return the item; null is an error of the codec, as an exception is
   */
  T decode(MessageView in);

  /**
   * A codec of two functions.
   *
   * @param encoder writes
   * @param decoder reads
   * @param <T> type of item
   * @return the codec
   */
  static <T> Codec<T> of(
      Encoder<? super T> encoder, Function<? super MessageView, ? extends T> decoder) {
    Objects.requireNonNull(encoder, "encoder");
    Objects.requireNonNull(decoder, "decoder");
    return new Codec<>() {
      @Override
      public void encode(T item, PayloadWriter out) {
        encoder.encode(item, out);
      }

      @Override
      public int sizeHint(T item) {
        return encoder.sizeHint(item);
      }

      @Override
      public T decode(MessageView in) {
        return decoder.apply(in);
      }
    };
  }
}
