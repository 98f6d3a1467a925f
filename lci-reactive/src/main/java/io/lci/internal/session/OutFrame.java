/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Encoder;
import io.lci.am.PayloadWriter;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;

/**
 * A frame that leaves; layout in {@link InFrame}. Written anew after each refusal, so nothing of it
 * changes once the session has numbered it.
 */
final class OutFrame {
  private static final byte[] NOTHING = {};

  static final Encoder<OutFrame> ENCODER =
      new Encoder<>() {
        @Override
        public void encode(OutFrame frame, PayloadWriter out) {
          frame.writeTo(out);
        }

        @Override
        public int sizeHint(OutFrame frame) {
          return frame.size();
        }
      };

  final FrameType type;
  final int flags;
  final long id;
  private final byte[] head;
  private final byte[] data;
  private final int offset;
  private final int length;
  private long number;
  private int ack;

  private OutFrame(
      FrameType type, int flags, long id, byte[] head, byte[] data, int offset, int length) {
    this.type = type;
    this.flags = flags;
    this.id = id;
    this.head = head;
    this.data = data;
    this.offset = offset;
    this.length = length;
  }

  private static OutFrame of(FrameType type, int flags, long id, ByteBuffer head) {
    return new OutFrame(type, flags, id, head.array(), NOTHING, 0, 0);
  }

  private static ByteBuffer head(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** An OPEN frame, with {@code item} if it is not null. */
  static OutFrame open(
      long id, Open open, int credit, @org.jspecify.annotations.Nullable Part item) {
    int flags = InFrame.OPENER | (item == null ? 0 : InFrame.ITEM | item.flags);
    int itemHead = item == null ? 0 : item.headBytes();
    ByteBuffer head = head(open.bytes() + itemHead);
    head.put((byte) open.kind.ordinal()).put((byte) 0).putShort((short) open.name.length);
    head.putInt(credit).putInt(open.awaitMillis).putShort((short) open.trace.length);
    head.putShort((short) 0).put(open.name).put(open.trace);
    if (item == null) {
      return of(FrameType.OPEN, flags, id, head);
    }
    item.writeHead(head);
    return new OutFrame(
        FrameType.OPEN, flags, id, head.array(), item.bytes, item.offset, item.length);
  }

  static OutFrame data(long id, int side, Part item) {
    ByteBuffer head = head(item.headBytes());
    item.writeHead(head);
    return new OutFrame(
        FrameType.DATA, side | item.flags, id, head.array(), item.bytes, item.offset, item.length);
  }

  static OutFrame complete(long id, int side, long count) {
    return of(FrameType.COMPLETE, side, id, head(8).putLong(count));
  }

  static OutFrame error(long id, int side, long count, WireError error) {
    byte[] code = utf8(error.code(), InFrame.MAX_CODE);
    byte[] message = utf8(error.message(), InFrame.MAX_MESSAGE);
    ByteBuffer head = head(12 + code.length + message.length).putLong(count);
    putError(head, code, message);
    return of(FrameType.ERROR, side | (error.user() ? InFrame.USER : 0), id, head);
  }

  static OutFrame farewell(WireError error) {
    byte[] code = utf8(error.code(), InFrame.MAX_CODE);
    byte[] message = utf8(error.message(), InFrame.MAX_MESSAGE);
    ByteBuffer head = head(4 + code.length + message.length);
    putError(head, code, message);
    return of(FrameType.FAREWELL, 0, 0, head);
  }

  private static void putError(ByteBuffer head, byte[] code, byte[] message) {
    head.putShort((short) code.length).putShort((short) message.length).put(code).put(message);
  }

  static OutFrame cancel(long id, int side) {
    return of(FrameType.CANCEL, side, id, head(0));
  }

  static OutFrame credit(long id, int side, int items, boolean grant) {
    int flags = side | (grant ? InFrame.GRANT : 0);
    return of(FrameType.CREDIT, flags, id, head(4).putInt(items));
  }

  static OutFrame ack() {
    return of(FrameType.ACK, 0, 0, head(0));
  }

  /** The session gives it its number, and says what it has received. */
  OutFrame numbered(long newNumber, long received) {
    number = newNumber;
    ack = (int) received;
    return this;
  }

  long number() {
    return number;
  }

  int size() {
    return InFrame.HEADER + head.length + length;
  }

  void writeTo(PayloadWriter out) {
    out.tag(number).putByte(type.code).putByte(flags).putShort(0).putInt(ack).putLong(id);
    out.putBytes(head).putBytes(data, offset, length);
  }

  /** What {@link #utf8} needs at most to show that a text has more bytes than {@code most}. */
  static int beyond(int most) {
    return most + 4; // the longest character: fewer bytes may be left over for want of room
  }

  /**
   * As many whole characters as fit. A surrogate without its other half becomes a question mark.
   */
  static byte[] utf8(String text, int most) {
    ByteBuffer out = ByteBuffer.allocate(most);
    CharBuffer in = CharBuffer.wrap(text);
    var encoder =
        StandardCharsets.UTF_8
            .newEncoder()
            .onMalformedInput(java.nio.charset.CodingErrorAction.REPLACE)
            .onUnmappableCharacter(java.nio.charset.CodingErrorAction.REPLACE);
    CoderResult result = encoder.encode(in, out, true);
    if (result.isUnderflow()) {
      encoder.flush(out);
    }
    byte[] bytes = new byte[out.position()];
    out.flip().get(bytes);
    return bytes;
  }

  /** What an OPEN frame says. */
  record Open(Kind kind, byte[] name, byte[] trace, int awaitMillis) {
    int bytes() {
      return InFrame.OPEN_HEAD + name.length + trace.length;
    }
  }

  /**
   * A part of an item.
   *
   * @param flags CONTINUED, LAST
   * @param total size of the whole item
   * @param count items in all, if last
   */
  record Part(int flags, int total, long count, byte[] bytes, int offset, int length) {
    int headBytes() {
      return ((flags & InFrame.CONTINUED) == 0 ? 4 : 0) + ((flags & InFrame.LAST) == 0 ? 0 : 8);
    }

    void writeHead(ByteBuffer head) {
      if ((flags & InFrame.CONTINUED) == 0) {
        head.putInt(total);
      }
      if ((flags & InFrame.LAST) != 0) {
        head.putLong(count);
      }
    }
  }
}
