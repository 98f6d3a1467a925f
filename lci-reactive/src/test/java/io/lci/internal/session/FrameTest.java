/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.internal.session.OutFrame.Open;
import io.lci.internal.session.OutFrame.Part;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Frames are read as they were written, and nothing else is read as a frame. [Y6, Y7] */
class FrameTest {
  private static final int PEER = 3;
  private static final Part ITEM = new Part(0, 5, 1, new byte[] {9, 1, 2, 3, 4, 5, 9}, 1, 5);

  private static Open open(Kind kind, String name, String trace) {
    return new Open(kind, utf8(name), utf8(trace), 77);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Message written(OutFrame frame) {
    FakeNet.Recorder out = new FakeNet.Recorder();
    frame.writeTo(out);
    assertThat(out.size()).isEqualTo(frame.size());
    return new Message(PEER, out.tag, out.bytes.toByteArray());
  }

  private static InFrame read(OutFrame frame) throws BadFrame {
    return InFrame.of(written(frame));
  }

  /** One of each type and form. */
  static Stream<OutFrame> all() {
    WireError error = new WireError("no_such_key", "key 7 is unknown: ñ", true);
    return Stream.of(
            OutFrame.open(5, open(Kind.STREAM, "ticks", ""), 256, null),
            OutFrame.open(5, open(Kind.CHANNEL, "näme", "00-ab-cd-01"), 0, null),
            OutFrame.open(
                5,
                open(Kind.RESPONSE, "f", "t"),
                1,
                new Part(InFrame.LAST, 5, 1, utf8("hello"), 0, 5)),
            OutFrame.data(6, 0, ITEM),
            OutFrame.data(6, InFrame.OPENER, new Part(InFrame.LAST, 0, 9, new byte[0], 0, 0)),
            OutFrame.data(6, 0, new Part(InFrame.CONTINUED, 100, 1, new byte[10], 2, 8)),
            OutFrame.data(
                6, 0, new Part(InFrame.CONTINUED | InFrame.LAST, 100, 4, new byte[10], 2, 8)),
            OutFrame.complete(6, 0, 12),
            OutFrame.error(6, InFrame.OPENER, 3, error),
            OutFrame.cancel(6, InFrame.OPENER),
            OutFrame.credit(6, 0, 17, false),
            OutFrame.credit(6, 0, 0, true))
        .map(frame -> frame.numbered(41, 40));
  }

  @Test
  void anOpeningIsReadAsItWasWritten() throws BadFrame {
    InFrame frame =
        read(
            OutFrame.open(5, open(Kind.RESPONSE, "näme", "00-ab"), 3, ITEM)
                .numbered(41, 1L << 33 | 7));
    assertThat(frame.type).isEqualTo(FrameType.OPEN);
    assertThat(frame.number).isEqualTo(41);
    assertThat(frame.ack).isEqualTo(7);
    assertThat(frame.id).isEqualTo(5);
    assertThat(frame.kind).isEqualTo(Kind.RESPONSE);
    assertThat(frame.name).isEqualTo("näme");
    assertThat(frame.trace).isEqualTo("00-ab");
    assertThat(frame.credit).isEqualTo(3);
    assertThat(frame.awaitMillis).isEqualTo(77);
    assertThat(frame.has(InFrame.ITEM)).isTrue();
    assertThat(frame.total).isEqualTo(5);
    assertThat(frame.data).containsExactly(1, 2, 3, 4, 5);
  }

  @Test
  void theOthersAreReadAsTheyWereWritten() throws BadFrame {
    InFrame last =
        read(OutFrame.data(6, 0, new Part(InFrame.LAST, 2, 9, new byte[2], 0, 2)).numbered(1, 0));
    assertThat(last.has(InFrame.LAST)).isTrue();
    assertThat(last.count).isEqualTo(9);
    assertThat(last.total).isEqualTo(2);
    assertThat(read(OutFrame.complete(6, 0, 12).numbered(1, 0)).count).isEqualTo(12);
    InFrame error = read(OutFrame.error(6, 0, 3, new WireError("c", "m", true)).numbered(1, 0));
    assertThat(List.of(error.count, error.code, error.message)).containsExactly(3L, "c", "m");
    assertThat(error.has(InFrame.USER)).isTrue();
    InFrame credit = read(OutFrame.credit(6, InFrame.OPENER, 17, true).numbered(1, 0));
    assertThat(credit.credit).isEqualTo(17);
    assertThat(credit.has(InFrame.GRANT) && credit.has(InFrame.OPENER)).isTrue();
    assertThat(read(OutFrame.ack().numbered(0, 8)).ack).isEqualTo(8);
    InFrame farewell = read(OutFrame.farewell(WireError.of("c", "m")).numbered(0, 8));
    assertThat(farewell.code + farewell.message).isEqualTo("cm");
  }

  @Test
  void longTextsAreCutBetweenCharacters() throws BadFrame {
    String message = "ñ".repeat(InFrame.MAX_MESSAGE);
    InFrame read =
        read(
            OutFrame.error(6, 0, 0, new WireError("x".repeat(99), "a" + message, true))
                .numbered(1, 0));
    assertThat(read.code).isEqualTo("x".repeat(InFrame.MAX_CODE));
    assertThat(read.message).isEqualTo("a" + "ñ".repeat((InFrame.MAX_MESSAGE - 1) / 2));
    assertThat(OutFrame.utf8("\ud800!", 9)).isEqualTo(utf8("?!"));
  }

  // Proves: Y6
  // On: inproc
  @ParameterizedTest
  @MethodSource("all")
  void whatIsTooShortIsNoFrame(OutFrame frame) {
    Message whole = written(frame);
    byte[] bytes = whole.toByteArray();
    for (int length = 0; length < bytes.length; length++) {
      byte[] part = java.util.Arrays.copyOf(bytes, length);
      boolean cutsData =
          frame.type == FrameType.DATA
              || (frame.flags & InFrame.ITEM) != 0; // its end is the message's
      Message message = new Message(PEER, whole.tag(), part);
      if (cutsData) {
        try {
          InFrame read = InFrame.of(message);
          assertThat(read.data.length).isLessThan(5 + 4);
        } catch (BadFrame e) {
          assertThat(e.what()).isNotEmpty();
        }
      } else {
        assertThatThrownBy(() -> InFrame.of(message)).isInstanceOf(BadFrame.class);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("all")
  void whatIsChangedIsNoFrameOrAnother(OutFrame frame) {
    Message whole = written(frame);
    Random random = new Random(7);
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = whole.toByteArray();
      for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
      }
      readOrRefuse(new Message(PEER, random.nextInt(4) == 0 ? random.nextLong() : 41, bytes));
    }
  }

  @Test
  void randomBytesAreNoFrameOrOne() {
    Random random = new Random(8);
    for (int i = 0; i < 100_000; i++) {
      byte[] bytes = new byte[random.nextInt(80)];
      random.nextBytes(bytes);
      if (bytes.length > 4) { // so that many come beyond the head
        bytes[0] = (byte) random.nextInt(10);
        bytes[1] &= (byte) random.nextInt(64);
        bytes[2] = bytes[3] = 0;
      }
      readOrRefuse(new Message(PEER, random.nextInt(2), bytes));
    }
  }

  /** Nothing but BadFrame comes out, and what is read keeps its bounds. */
  private static void readOrRefuse(Message message) {
    try {
      InFrame frame = InFrame.of(message);
      assertThat(frame.data.length).isLessThanOrEqualTo(message.size());
      assertThat(frame.total).isNotNegative();
      assertThat(frame.credit).isNotNegative();
      assertThat(frame.count).isNotNegative();
      assertThat(frame.type.isNumbered()).isEqualTo(message.tag() > 0);
    } catch (BadFrame e) {
      assertThat(e.what()).isNotEmpty();
    }
  }

  @Test
  void whatMustBeZeroIs() {
    byte[] bytes = written(OutFrame.cancel(6, 0).numbered(41, 0)).toByteArray();
    bytes[2] = 1;
    refused(41, bytes, "flags");
    bytes[2] = 0;
    bytes[1] = InFrame.GRANT;
    refused(41, bytes, "flags that CANCEL cannot have");
    bytes[1] = 0;
    refused(0, bytes, "number 0");
    refused(-1, bytes, "number -1");
    bytes[0] = 9;
    refused(41, bytes, "no such type");
    byte[] more = java.util.Arrays.copyOf(written(OutFrame.ack().numbered(0, 1)).toByteArray(), 17);
    refused(0, more, "1 bytes behind");
  }

  @Test
  void countsThatMakeNoSenseAreRefused() {
    ByteBuffer open = bytes(OutFrame.open(5, open(Kind.STREAM, "s", ""), 1, null).numbered(41, 0));
    open.put(16, (byte) 5);
    refused(41, open.array(), "no known kind");
    open.put(16, (byte) 0).putShort(18, (short) 0);
    refused(41, open.array(), "names of 0");
    open.putShort(18, (short) 1).putInt(20, -1);
    refused(41, open.array(), "too large");
    ByteBuffer item = bytes(OutFrame.data(6, 0, ITEM).numbered(41, 0));
    item.putInt(16, 4);
    refused(41, item.array(), "an item of 4 bytes in 5");
    ByteBuffer complete = bytes(OutFrame.complete(6, 0, 1).numbered(41, 0));
    complete.putLong(16, -1);
    refused(41, complete.array(), "negative");
    ByteBuffer credit = bytes(OutFrame.credit(6, 0, 1, false).numbered(41, 0));
    credit.putInt(16, 0);
    refused(41, credit.array(), "credit of nothing");
    ByteBuffer error =
        bytes(OutFrame.error(6, 0, 0, new WireError("c", "m", true)).numbered(41, 0));
    error.put(28, (byte) 0xC3);
    refused(41, error.array(), "not UTF-8");
  }

  private static ByteBuffer bytes(OutFrame frame) {
    return ByteBuffer.wrap(written(frame).toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void refused(long tag, byte[] bytes, String why) {
    assertThatThrownBy(() -> InFrame.of(new Message(PEER, tag, bytes)))
        .isInstanceOfSatisfying(BadFrame.class, e -> assertThat(e.what()).contains(why));
  }

  /** Not cut where its last character does not fit: that would be another name. */
  @Test
  void aNameIsTooLongByAnyCharacter() {
    FakeNet net = new FakeNet(2);
    for (String last : List.of("a", "\u00f1", "\u20ac", "\ud83d\ude00")) {
      for (int before = 252; before <= 256; before++) {
        String name = "n".repeat(before) + last;
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > 255) {
          assertThatThrownBy(() -> net.rank(0).subscribe(1, name, Codec.INT))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("1 to 255 bytes");
        } else {
          assertThat(Names.bytes(name, "name")).hasSize(bytes);
        }
      }
    }
  }

  /** What has no number must have none. */
  @Test
  void anAcknowledgementWithANumberIsNoFrame() {
    FakeNet.Recorder out = new FakeNet.Recorder();
    OutFrame.ack().numbered(0, 0).writeTo(out);
    byte[] bytes = out.bytes.toByteArray();
    assertThatThrownBy(() -> InFrame.of(new Message(1, -3, bytes))).isInstanceOf(BadFrame.class);
    bytes[15] = (byte) 0x80; // a negative exchange
    assertThatThrownBy(() -> InFrame.of(new Message(1, 0, bytes))).isInstanceOf(BadFrame.class);
  }
}
