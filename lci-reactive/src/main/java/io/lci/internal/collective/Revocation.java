/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A rank gave a group up, or a context. Members that hear of it give up what they have of it, so
 * the core names them to others; the cause that they say names the first one.
 *
 * @param rank whose decision it was
 */
record Revocation(int rank, String reason) {
  /** Bytes of a message, at most. */
  static final int MAX_BYTES = 1024;

  private static final int MAX_REASON = (MAX_BYTES - Long.BYTES) / 3; // characters of UTF-8

  /** Marks a cause that names a rank: above all codes. */
  private static final int NAMES_A_RANK = 1 << 30;

  /** The cause that says so to the core. */
  int cause() {
    return NAMES_A_RANK | rank;
  }

  static boolean isNamed(int cause) {
    return (cause & NAMES_A_RANK) != 0;
  }

  /** The rank that a cause names, or else the one that gave it. */
  static int rank(int cause, int giver) {
    return isNamed(cause) ? cause & ~NAMES_A_RANK : giver;
  }

  /** What a cause says, for those who read. */
  static String hint(NativeCalls calls, int cause) {
    return isNamed(cause)
        ? "it revoked the group"
        : "it gave the context up: " + Errors.name(calls, cause);
  }

  /** The code that its errors show. */
  static int code() {
    return Codes.ERR_COLLECTIVE;
  }

  byte[] toBytes(long group) {
    String text = reason.length() > MAX_REASON ? reason.substring(0, MAX_REASON) : reason;
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Long.BYTES + utf8.length).putLong(group).put(utf8).array();
  }

  /** The group that a message is about. */
  static long group(Message message) {
    return ByteBuffer.wrap(message.toByteArray()).getLong();
  }

  static Revocation of(Message message) {
    byte[] bytes = message.toByteArray();
    String reason =
        new String(bytes, Long.BYTES, bytes.length - Long.BYTES, StandardCharsets.UTF_8);
    return new Revocation(message.rank(), reason);
  }
}
