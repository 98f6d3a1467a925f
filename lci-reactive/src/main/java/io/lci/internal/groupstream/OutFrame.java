/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The bytes of a frame. Layout, little-endian; the message's tag is the number of the device:
 *
 * <pre>
 * 0  4 type   4 member that sends   8 context   8 number of the stream
 * OPEN    4 kind  4 root  4 items of the window  4 bytes of the window
 * ITEMS   8 number of the first  [4 bytes of the item  item] ...
 * END     8 items in all
 * CREDIT  8 items  8 bytes
 * DETACH
 * ABORT   4 rank  2 bytes of code  2 bytes of text  code  text
 * </pre>
 */
final class OutFrame {
  static final int HEADER = 24;

  /** Bytes of an ITEMS frame before its first item. */
  static final int ITEMS_HEAD = HEADER + Long.BYTES;

  /** Most bytes of the text of an ABORT frame. */
  private static final int MAX_TEXT = 1_024;

  private final int member;
  private final long context;
  private final long number;

  /** Frames of one stream. */
  OutFrame(int member, long context, long number) {
    this.member = member;
    this.context = context;
    this.number = number;
  }

  private ByteBuffer begin(FrameType type, int body) {
    return ByteBuffer.allocate(HEADER + body)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(type.ordinal())
        .putInt(member)
        .putLong(context)
        .putLong(number);
  }

  byte[] open(StreamKind kind, int root, int windowItems, int windowBytes) {
    return begin(FrameType.OPEN, 4 * Integer.BYTES)
        .putInt(kind.ordinal())
        .putInt(root)
        .putInt(windowItems)
        .putInt(windowBytes)
        .array();
  }

  byte[] items(long first, List<byte[]> items) {
    int bytes = Long.BYTES;
    for (byte[] item : items) {
      bytes += Integer.BYTES + item.length;
    }
    ByteBuffer out = begin(FrameType.ITEMS, bytes).putLong(first);
    for (byte[] item : items) {
      out.putInt(item.length).put(item);
    }
    return out.array();
  }

  byte[] end(long count) {
    return begin(FrameType.END, Long.BYTES).putLong(count).array();
  }

  byte[] credit(long items, long bytes) {
    return begin(FrameType.CREDIT, 2 * Long.BYTES).putLong(items).putLong(bytes).array();
  }

  byte[] detach() {
    return begin(FrameType.DETACH, 0).array();
  }

  byte[] abort(StreamCause cause) {
    byte[] code = cause.code().getBytes(StandardCharsets.UTF_8);
    byte[] text = cause.text().getBytes(StandardCharsets.UTF_8);
    int textBytes = Math.min(text.length, MAX_TEXT);
    return begin(FrameType.ABORT, Integer.BYTES + 2 * Short.BYTES + code.length + textBytes)
        .putInt(cause.rank())
        .putShort((short) code.length)
        .putShort((short) textBytes)
        .put(code)
        .put(text, 0, textBytes)
        .array();
  }
}
