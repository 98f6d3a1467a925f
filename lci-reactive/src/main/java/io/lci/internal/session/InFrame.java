/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.MessageView;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcExchange;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * A frame that came, copied and checked: every length is inside the message, every flag belongs to
 * its type, what must be zero is.
 *
 * <p>Layout, little-endian; the message's tag is the frame's number, 0 for those that have none:
 *
 * <pre>
 * 0  1 type   1 flags   2 zero   4 cumulative acknowledgement   8 exchange
 * OPEN      1 kind  1 zero  2 length of name  4 credit  4 milliseconds to await
 *           2 length of trace context  2 zero  name  trace context  [an item as in DATA]
 * DATA      [4 size of the item, unless continued]  [8 items in all, if last]  bytes
 * COMPLETE  8 items in all
 * ERROR     8 items in all  2 length of code  2 length of message  code  message
 * CREDIT    4 items
 * FAREWELL  as ERROR without the items
 * </pre>
 */
final class InFrame {
  static final int HEADER = 16;

  /** Bytes of an OPEN frame before its name. */
  static final int OPEN_HEAD = 16;

  /** Most bytes of an error's code, and of its message. */
  static final int MAX_CODE = 64;

  static final int MAX_MESSAGE = 1_024;

  // Flags

  /** Sent by the side that opened the exchange. */
  static final int OPENER = 1;

  /** An OPEN frame with an item. */
  static final int ITEM = 2;

  /** With the end of this item its direction completes. */
  static final int LAST = 4;

  /** A further part of an item. */
  static final int CONTINUED = 8;

  /** There is room for the item whose first part came. */
  static final int GRANT = 16;

  /** The error is user code's. */
  static final int USER = 32;

  private static final byte[] NOTHING = {};

  final FrameType type;
  final int flags;
  final long number;
  final int ack;
  final long id;

  Kind kind = Kind.STREAM;
  String name = "";
  String trace = "";
  int awaitMillis;

  /** Of OPEN and CREDIT. */
  int credit;

  /** Size of the item that begins. */
  int total;

  byte[] data = NOTHING;

  /** Items in all, of what ends a direction. */
  long count;

  String code = "";
  String message = "";

  private InFrame(FrameType type, int flags, long number, int ack, long id) {
    this.type = type;
    this.flags = flags;
    this.number = number;
    this.ack = ack;
    this.id = id;
  }

  boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /** Copies and checks. */
  static InFrame of(MessageView view) throws BadFrame {
    Reader in = new Reader(view);
    FrameType type = FrameType.of(in.u8());
    int flags = in.u8();
    if (type == null) {
      throw new BadFrame("no such type of frame");
    }
    if ((flags & ~type.flags) != 0 || in.u16() != 0) {
      throw new BadFrame("flags that " + type + " cannot have: " + flags);
    }
    int ack = in.i32();
    InFrame frame = new InFrame(type, flags, view.tag(), ack, in.i64());
    boolean numbered = frame.number > 0 && frame.id > 0;
    boolean bare = frame.number == 0 && frame.id == 0;
    if (type.isNumbered() ? !numbered : !bare) {
      throw new BadFrame(type + " with number " + frame.number + " and exchange " + frame.id);
    }
    frame.readBody(in);
    in.end();
    return frame;
  }

  private void readBody(Reader in) throws BadFrame {
    switch (type) {
      case OPEN -> readOpen(in);
      case DATA -> readItem(in);
      case COMPLETE -> count = in.count();
      case ERROR -> {
        count = in.count();
        readError(in);
      }
      case FAREWELL -> readError(in);
      case CREDIT -> {
        credit = in.positive();
        if (credit == 0 && !has(GRANT)) {
          throw new BadFrame("credit of nothing");
        }
      }
      case CANCEL, ACK -> {} // nothing more
    }
  }

  private void readOpen(Reader in) throws BadFrame {
    Kind found = Kind.of(in.u8());
    int zero = in.u8();
    int nameLength = in.u16();
    credit = in.positive();
    awaitMillis = in.positive();
    int traceLength = in.u16();
    zero |= in.u16();
    if (found == null || zero != 0 || !has(OPENER)) {
      throw new BadFrame("an exchange of no known kind");
    }
    if (nameLength == 0 || nameLength > Rpc.MAX_NAME || traceLength > RpcExchange.MAX_TRACEPARENT) {
      throw new BadFrame("names of " + nameLength + " and " + traceLength + " bytes");
    }
    kind = found;
    name = in.text(nameLength);
    trace = in.text(traceLength);
    if (has(ITEM)) {
      readItem(in);
    } else if (has(LAST)) {
      throw new BadFrame("the last item is not there");
    }
    if (kind == Kind.STREAM && has(ITEM)) {
      throw new BadFrame("a stream is asked for without a request");
    }
  }

  private void readItem(Reader in) throws BadFrame {
    if (!has(CONTINUED)) {
      total = in.positive();
    }
    if (has(LAST)) {
      count = in.count();
    }
    data = in.rest();
    if (!has(CONTINUED) && data.length > total) {
      throw new BadFrame("an item of " + total + " bytes in " + data.length);
    }
    if (data.length == 0 && (has(CONTINUED) || total != 0)) {
      throw new BadFrame("a part of an item without bytes");
    }
  }

  private void readError(Reader in) throws BadFrame {
    int codeLength = in.u16();
    int messageLength = in.u16();
    if (codeLength == 0 || codeLength > MAX_CODE || messageLength > MAX_MESSAGE) {
      throw new BadFrame("an error of " + codeLength + " and " + messageLength + " bytes");
    }
    code = in.text(codeLength);
    message = in.text(messageLength);
  }

  @Override
  public String toString() {
    return type + " " + number + " of exchange " + id + " flags " + flags;
  }

  /** Reads in order, and not beyond the end. */
  private static final class Reader {
    private final MessageView view;
    private int at;

    Reader(MessageView view) {
      this.view = view;
    }

    private int step(int bytes) throws BadFrame {
      if (bytes > view.size() - at) {
        throw new BadFrame("a frame of " + view.size() + " bytes is too short");
      }
      int from = at;
      at += bytes;
      return from;
    }

    int u8() throws BadFrame {
      return view.getByte(step(1)) & 0xFF;
    }

    int u16() throws BadFrame {
      return view.getShort(step(2)) & 0xFFFF;
    }

    int i32() throws BadFrame {
      return view.getInt(step(4));
    }

    int positive() throws BadFrame {
      int value = i32();
      if (value < 0) {
        throw new BadFrame("a number that is too large: " + Integer.toUnsignedString(value));
      }
      return value;
    }

    long i64() throws BadFrame {
      return view.getLong(step(8));
    }

    long count() throws BadFrame {
      long value = i64();
      if (value < 0) {
        throw new BadFrame("a negative count");
      }
      return value;
    }

    String text(int length) throws BadFrame {
      byte[] bytes = bytes(length);
      try {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      } catch (CharacterCodingException e) {
        throw new BadFrame("text that is not UTF-8");
      }
    }

    byte[] rest() throws BadFrame {
      return bytes(view.size() - at);
    }

    private byte[] bytes(int length) throws BadFrame {
      if (length == 0) {
        return NOTHING;
      }
      byte[] bytes = new byte[Math.min(length, view.size())];
      view.getBytes(step(length), bytes, 0, length);
      return bytes;
    }

    void end() throws BadFrame {
      if (at != view.size()) {
        throw new BadFrame((view.size() - at) + " bytes behind a frame");
      }
    }
  }
}
