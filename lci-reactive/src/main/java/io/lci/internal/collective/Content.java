/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.Codec;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.ProtocolException;
import io.lci.internal.core.Thrown;
import io.lci.internal.lane.HeapWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * What a member brings to a call whose lengths the others do not know: bytes, or what its code
 * threw instead. A head of fixed length travels first, with all of it if that is short.
 *
 * @param bytes the text, if something was thrown; fewer than {@code length} if they have not come
 * @param thrown what was, at that member alone
 */
@SuppressWarnings("ArrayRecordComponent") // it is never compared
record Content(boolean failed, int length, byte[] bytes, @Nullable Throwable thrown) {
  /** Bytes of a head: the longest payload that goes along with a message of a call. */
  static final int HEAD = 160;

  private static final int SHORT = HEAD - Long.BYTES;
  private static final int LONGEST = Integer.MAX_VALUE - 64;
  private static final int LONGEST_TEXT = 1000; // characters

  /** The result of user code, or what it threw. */
  static Content of(Callable<byte[]> code) {
    try {
      byte[] bytes = code.call();
      return new Content(false, bytes.length, bytes, null);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      String text = Thrown.text(e);
      String cut = text.substring(0, Math.min(text.length(), LONGEST_TEXT));
      byte[] bytes = cut.getBytes(StandardCharsets.UTF_8);
      return new Content(true, bytes.length, bytes, e);
    }
  }

  static <T> Content encoded(T value, Codec<? super T> codec) {
    return of(() -> encode(value, codec));
  }

  static <T> byte[] encode(T value, Codec<? super T> codec) {
    HeapWriter out = new HeapWriter(codec.sizeHint(value), LONGEST);
    codec.encode(value, out);
    return out.toByteArray();
  }

  String text() {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  boolean isShort() {
    return length <= SHORT;
  }

  byte[] head() {
    byte[] head = new byte[HEAD];
    ByteBuffer.wrap(head)
        .putLong((long) length << 1 | (failed ? 1 : 0))
        .put(bytes, 0, isShort() ? length : 0);
    return head;
  }

  /** That it is there, without its bytes. */
  Content without() {
    return new Content(failed, 0, new byte[0], thrown);
  }

  /** With its bytes, which have come apart. */
  Content with(byte[] all) {
    return new Content(failed, length, all, thrown);
  }

  /** What a head says: all of it, or how long it is. */
  static Content of(byte[] heads, int member) {
    ByteBuffer head = ByteBuffer.wrap(heads, member * HEAD, HEAD);
    long word = head.getLong();
    long length = word >> 1;
    if (length < 0 || length > LONGEST) {
      throw new ProtocolException(
          new Detail(
              "values of a group",
              LciException.NONE,
              LciException.NONE,
              LciException.NONE,
              "protocol",
              "member " + member + " brings " + length + " bytes"));
    }
    return of(head, (word & 1) != 0, (int) length);
  }

  private static Content of(ByteBuffer head, boolean failed, int length) {
    byte[] bytes = new byte[length <= SHORT ? length : 0];
    head.get(bytes);
    return new Content(failed, length, bytes, null);
  }
}
