/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.am.Message;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** A frame that came; layout in {@link OutFrame}. What is cut off throws at the access. */
final class InFrame {
  private final Message message;

  InFrame(Message message) {
    this.message = message;
  }

  int rank() {
    return message.rank();
  }

  FrameType type() {
    return FrameType.of(message.getInt(0));
  }

  int member() {
    return message.getInt(4);
  }

  long context() {
    return message.getLong(8);
  }

  long number() {
    return message.getLong(16);
  }

  int size() {
    return message.size();
  }

  /** A number of the body. */
  int intAt(int offset) {
    return message.getInt(OutFrame.HEADER + offset);
  }

  long longAt(int offset) {
    return message.getLong(OutFrame.HEADER + offset);
  }

  /** How many bytes an item has; all of them are there. */
  int itemBytes(int at) {
    int bytes = message.getInt(at);
    Objects.checkFromIndexSize(at + Integer.BYTES, bytes, size());
    return bytes;
  }

  /** An item as a message of its own. */
  Message item(int at) {
    byte[] bytes = new byte[itemBytes(at)];
    message.getBytes(at + Integer.BYTES, bytes, 0, bytes.length);
    return new Message(message.rank(), 0, bytes);
  }

  /** Of an ABORT frame. */
  StreamCause cause() {
    int lengths = OutFrame.HEADER + Integer.BYTES;
    int code = message.getShort(lengths) & 0xFFFF;
    int text = message.getShort(lengths + Short.BYTES) & 0xFFFF;
    int at = lengths + 2 * Short.BYTES;
    return new StreamCause(intAt(0), text(at, code), text(at + code, text));
  }

  private String text(int at, int length) {
    byte[] bytes = new byte[length];
    message.getBytes(at, bytes, 0, length);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
