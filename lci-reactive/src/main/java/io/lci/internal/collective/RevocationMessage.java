/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * How a rank tells others that it gives something up. Layout, big-endian: 1 byte that says what, 8
 * bytes of its id, the reason in UTF-8.
 *
 * @param id the same on all members
 */
record RevocationMessage(What what, long id, Revocation by) {
  /** What is given up. The ordinal travels. */
  enum What {
    GROUP,
    CONTEXT;

    private static final What[] ALL = values();
  }

  /** Bytes of a message, at most. */
  static final int MAX_BYTES = 1024;

  private static final int HEADER = 1 + Long.BYTES;
  private static final int MAX_REASON = (MAX_BYTES - HEADER) / 3; // characters of UTF-8

  static byte[] of(What what, long id, String reason) {
    int length = Math.min(reason.length(), MAX_REASON);
    if (length > 0
        && length < reason.length()
        && Character.isHighSurrogate(reason.charAt(length - 1))) {
      length--;
    }
    byte[] utf8 = reason.substring(0, length).getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(HEADER + utf8.length)
        .put((byte) what.ordinal())
        .putLong(id)
        .put(utf8)
        .array();
  }

  /** Null if it makes no sense. */
  static @Nullable RevocationMessage read(Message message) {
    byte[] bytes = message.toByteArray();
    if (bytes.length < HEADER || bytes[0] < 0 || bytes[0] >= What.ALL.length) {
      return null;
    }
    What what = What.ALL[bytes[0]];
    String reason = new String(bytes, HEADER, bytes.length - HEADER, StandardCharsets.UTF_8);
    Revocation by =
        what == What.GROUP
            ? Revocation.ofGroup(message.rank(), reason)
            : Revocation.ofContext(message.rank());
    return new RevocationMessage(what, ByteBuffer.wrap(bytes).getLong(1), by);
  }
}
