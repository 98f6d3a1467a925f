/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.NativeCalls;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A rank gave a group up, or a context. Members that hear of a group give up what they have of it,
 * so the core names them to others; the cause that they say names the first one.
 *
 * @param rank whose decision it was
 * @param hint what errors say
 * @param cause what the core is told
 */
record Revocation(int rank, String hint, int cause) {
  /** Bytes of a message, at most. */
  static final int MAX_BYTES = 1024;

  private static final int MAX_REASON = (MAX_BYTES - Long.BYTES) / 3; // characters of UTF-8

  /** Causes above all codes: of a group, with a rank; or user code threw. */
  private static final int OF_A_GROUP = 1 << 30;

  private static final int THREW = 1 << 29;

  private static final String REVOKED = "it revoked the group";

  static Revocation ofGroup(int rank, String reason) {
    return new Revocation(rank, REVOKED + ": " + reason, OF_A_GROUP | rank);
  }

  /** Code of the program threw. */
  static Revocation ofContext(int rank, String text) {
    return new Revocation(rank, "it gave the context up: " + text, THREW);
  }

  boolean isOfGroup() {
    return (cause & OF_A_GROUP) != 0;
  }

  /** The rank that a cause names, or else the one that gave it. */
  static int rank(int cause, int giver) {
    return (cause & OF_A_GROUP) != 0 ? cause & ~OF_A_GROUP : giver;
  }

  /** What a cause says. */
  static String hint(NativeCalls calls, int cause) {
    if ((cause & OF_A_GROUP) != 0) {
      return REVOKED;
    }
    String why = (cause & THREW) != 0 ? "its codec or operator threw" : Errors.name(calls, cause);
    return "it gave the context up: " + why;
  }

  // Messages

  static byte[] message(long group, String reason) {
    int length = Math.min(reason.length(), MAX_REASON);
    if (length > 0
        && length < reason.length()
        && Character.isHighSurrogate(reason.charAt(length - 1))) {
      length--;
    }
    byte[] utf8 = reason.substring(0, length).getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Long.BYTES + utf8.length).putLong(group).put(utf8).array();
  }

  /** Whether a message has the bytes of one. */
  static boolean isOne(Message message) {
    return message.size() >= Long.BYTES;
  }

  /** The group that a message is about. */
  static long group(Message message) {
    return ByteBuffer.wrap(message.toByteArray()).getLong();
  }

  static Revocation of(Message message) {
    byte[] bytes = message.toByteArray();
    int length = bytes.length - Long.BYTES;
    return ofGroup(message.rank(), new String(bytes, Long.BYTES, length, StandardCharsets.UTF_8));
  }
}
