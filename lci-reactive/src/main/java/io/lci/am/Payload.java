/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * The bytes that one operation sends. The loop writes them at the post, and again after each retry,
 * so they must not change until the operation has ended.
 *
 * @since 0.1
 */
public interface Payload {
  /** {@return the size in bytes} */
  int size();

  /**
   * Writes exactly {@link #size()} bytes. Called on the operation's loop; repeatable.
   *
   * @param out the writer
   */
  void writeTo(PayloadWriter out);

  /** {@return the payload of no bytes} */
  static Payload empty() {
    return of(new byte[0]);
  }

  /**
   * Bytes of an array.
   *
   * @param bytes not copied now
   * @return the payload
   */
  static Payload of(byte[] bytes) {
    Objects.requireNonNull(bytes, "bytes");
    return new Payload() {
      @Override
      public int size() {
        return bytes.length;
      }

      @Override
      public void writeTo(PayloadWriter out) {
        out.putBytes(bytes);
      }
    };
  }

  /**
   * The remaining bytes of a buffer; later moves of its position do not matter.
   *
   * @param buffer heap or direct; its content is not copied now
   * @return the payload
   */
  static Payload of(ByteBuffer buffer) {
    ByteBuffer view = Objects.requireNonNull(buffer, "buffer").duplicate();
    return new Payload() {
      @Override
      public int size() {
        return view.remaining();
      }

      @Override
      public void writeTo(PayloadWriter out) {
        out.putBytes(view);
      }
    };
  }

  /**
   * An item as an encoder writes it. The encoder is called twice for each attempt, once to find the
   * size, and both times it must write the same. A tag that it sets is that of the message, if that
   * goes to a port.
   *
   * @param item not copied; it must not change until the operation has ended
   * @param encoder a {@link io.lci.Codec}, or a lambda; called on the operation's loop
   * @param <T> type of item
   * @return the payload
   */
  static <T> Payload of(T item, Encoder<? super T> encoder) {
    Objects.requireNonNull(item, "item");
    Objects.requireNonNull(encoder, "encoder");
    return new Payload() {
      @Override
      public int size() {
        SizeCounter counter = new SizeCounter();
        encoder.encode(item, counter);
        return counter.size();
      }

      @Override
      public void writeTo(PayloadWriter out) {
        encoder.encode(item, out);
      }
    };
  }

  /**
   * Four bytes, little-endian.
   *
   * @param value the value
   * @return the payload
   */
  static Payload ofInt(int value) {
    return new Payload() {
      @Override
      public int size() {
        return Integer.BYTES;
      }

      @Override
      public void writeTo(PayloadWriter out) {
        out.putInt(value);
      }
    };
  }

  /**
   * Eight bytes, little-endian.
   *
   * @param value the value
   * @return the payload
   */
  static Payload ofLong(long value) {
    return new Payload() {
      @Override
      public int size() {
        return Long.BYTES;
      }

      @Override
      public void writeTo(PayloadWriter out) {
        out.putLong(value);
      }
    };
  }

  /**
   * Text as UTF-8.
   *
   * @param text the text
   * @return the payload
   */
  static Payload ofUtf8(String text) {
    return of(Objects.requireNonNull(text, "text").getBytes(StandardCharsets.UTF_8));
  }
}
