/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.words;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The words of one part of a text: those of the lines that begin in it. The parts of a text have
 * each line once. A word is letters A to Z of either case, as {@code tr -cs 'A-Za-z' '\n'} takes
 * it; a text that begins otherwise has an empty word there, as that has.
 */
final class TextPart implements Closeable {
  private static final int BUFFER = 1 << 16;
  private static final int END = -1;

  private final InputStream in;
  private final long last;

  /** Bytes that were read, from the beginning of the text. */
  private long at;

  /** At the beginning of the text. */
  private boolean atBegin;

  /** No line of this part is left. */
  private boolean over;

  private byte[] word = new byte[64];

  private TextPart(InputStream in, long at, long first, long last) {
    this.in = in;
    this.at = at;
    this.last = last;
    this.atBegin = first == 0;
    this.over = first == last;
  }

  /** Part {@code index} of {@code parts}. */
  static TextPart open(Path file, int index, int parts) {
    FileChannel channel = null;
    try {
      channel = FileChannel.open(file, StandardOpenOption.READ);
      return open(channel, index, parts);
    } catch (IOException e) {
      closeQuietly(channel, e);
      throw new UncheckedIOException(file + ": " + e.getMessage(), e);
    } catch (UncheckedIOException e) {
      closeQuietly(channel, e);
      throw e;
    }
  }

  private static TextPart open(FileChannel channel, int index, int parts) throws IOException {
    long size = channel.size();
    long first = size * index / parts;
    long begin = Math.max(0, first - 1); // whether a line begins at first, its last byte tells
    channel.position(begin);
    InputStream in = new BufferedInputStream(Channels.newInputStream(channel), BUFFER);
    TextPart part = new TextPart(in, begin, first, size * (index + 1) / parts);
    if (first > 0) {
      part.skipLine();
    }
    return part;
  }

  private static void closeQuietly(@Nullable FileChannel channel, Exception cause) {
    try {
      if (channel != null) {
        channel.close();
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /** The next word; null after the last one. */
  @Nullable String next() {
    int letter = nextLetter();
    if (letter == END) {
      return null;
    }
    int length = 0;
    for (int next = letter; isLetter(next); next = read()) {
      if (length == word.length) {
        word = Arrays.copyOf(word, 2 * length);
      }
      word[length++] = (byte) next;
    }
    return new String(word, 0, length, StandardCharsets.US_ASCII);
  }

  /** The first letter of the next word, what is none at the very beginning, or the end. */
  private int nextLetter() {
    int next = read();
    if (atBegin) {
      atBegin = false;
      return next;
    }
    while (next != END && !isLetter(next)) {
      next = read();
    }
    return next;
  }

  /** The next byte of the lines of this part. */
  private int read() {
    if (over) {
      return END;
    }
    int next = readByte();
    over = next == END || (next == '\n' && at >= last);
    return next;
  }

  private int readByte() {
    try {
      int next = in.read();
      at += next == END ? 0 : 1;
      return next;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void skipLine() {
    int next = readByte();
    while (next != END && next != '\n') {
      next = readByte();
    }
    over |= next == END || at >= last; // no line begins here
  }

  private static boolean isLetter(int value) {
    return (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z');
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
