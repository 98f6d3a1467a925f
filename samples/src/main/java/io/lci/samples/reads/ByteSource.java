/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.LongConsumer;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * The bytes of a file behind a window: {@code buffer[position, limit)} is what was read and not yet
 * consumed. Positions count uncompressed bytes. Every failure is a {@link BadInputException}.
 */
abstract class ByteSource implements Closeable {
  private static final int WINDOW = 1 << 18;
  private static final int MAGIC_LENGTH = 2;

  final Path file;
  final FileChannel channel;
  final byte[] buffer = new byte[WINDOW];
  int position;
  int limit;
  long windowStart;

  private final LongConsumer progress;
  private long reported;

  private ByteSource(Path file, FileChannel channel, LongConsumer progress) {
    this.file = file;
    this.channel = channel;
    this.progress = progress;
  }

  /**
   * Opens a file; whether it is compressed shows in its first bytes.
   *
   * @param progress told how many bytes of the file were read since it was last told
   */
  static ByteSource open(Path file, LongConsumer progress) {
    try {
      if (Files.isDirectory(file)) {
        throw new BadInputException(file, "is a directory");
      }
      FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
      try {
        return isGzip(channel)
            ? new Gzip(file, channel, progress)
            : new Plain(file, channel, progress);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
    } catch (NoSuchFileException e) {
      throw new BadInputException(file, "no such file");
    } catch (IOException e) {
      throw new BadInputException(file, "cannot be read: " + e.getMessage());
    }
  }

  private static boolean isGzip(FileChannel channel) throws IOException {
    ByteBuffer magic = ByteBuffer.allocate(MAGIC_LENGTH);
    channel.read(magic, 0);
    return magic.position() == MAGIC_LENGTH
        && magic.get(0) == (byte) GZIPInputStream.GZIP_MAGIC
        && magic.get(1) == (byte) (GZIPInputStream.GZIP_MAGIC >> 8);
  }

  abstract int read() throws IOException;

  /** Which part of the file is ours, as reader {@code reader} of {@code readers}. */
  abstract Share share(int reader, int readers);

  /** Continues at another position; only plain files can. */
  abstract void seek(long offset);

  final boolean isCompressed() {
    return this instanceof Gzip;
  }

  /** Position of the next byte. */
  final long at() {
    return windowStart + position;
  }

  /** Makes sure that the window is not empty; false at the end of the file. */
  final boolean more() {
    if (position < limit) {
      return true;
    }
    windowStart += limit;
    position = 0;
    limit = 0;
    try {
      limit = Math.max(0, read());
      report(channel.position());
    } catch (EOFException e) {
      throw new BadInputException(file, "compressed data ends too early", at(), e);
    } catch (ZipException e) {
      throw new BadInputException(file, "compressed data is damaged: " + e.getMessage(), at(), e);
    } catch (IOException e) {
      throw new BadInputException(file, "cannot be read: " + e.getMessage(), at(), e);
    }
    return limit > 0;
  }

  /** The next byte; {@link #more()} must have answered true. */
  final byte peek() {
    return buffer[position];
  }

  /**
   * Passes over the rest of a line and its end, but not beyond {@code end}; true if the line ended.
   */
  final boolean skipLine(long end) {
    while (at() < end && more()) {
      int stop = (int) Math.min(limit, end - windowStart);
      while (position < stop) {
        if (buffer[position++] == '\n') {
          return true;
        }
      }
    }
    return false;
  }

  /** Passes over {@code count} bytes; false if the file ends before. */
  final boolean skip(long count) {
    long left = count;
    while (left > 0) {
      if (!more()) {
        return false;
      }
      int step = (int) Math.min(left, limit - position);
      position += step;
      left -= step;
    }
    return true;
  }

  private void report(long fileOffset) {
    if (fileOffset > reported) {
      progress.accept(fileOffset - reported);
    }
    reported = fileOffset;
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new BadInputException(file, "cannot be closed: " + e.getMessage());
    }
  }

  private static final class Plain extends ByteSource {
    private final ByteBuffer view = ByteBuffer.wrap(buffer);

    Plain(Path file, FileChannel channel, LongConsumer progress) {
      super(file, channel, progress);
    }

    @Override
    int read() throws IOException {
      return channel.read(view.clear());
    }

    @Override
    Share share(int reader, int readers) {
      try {
        return Share.ofPlain(channel.size(), reader, readers);
      } catch (IOException e) {
        throw new BadInputException(file, "cannot be read: " + e.getMessage());
      }
    }

    @Override
    void seek(long offset) {
      try {
        channel.position(offset);
      } catch (IOException e) {
        throw new BadInputException(file, "cannot be read: " + e.getMessage(), offset, e);
      }
      super.reported = offset;
      windowStart = offset;
      position = 0;
      limit = 0;
    }
  }

  private static final class Gzip extends ByteSource {
    private static final int INFLATER_INPUT = 1 << 16;
    private final InputStream in;

    Gzip(Path file, FileChannel channel, LongConsumer progress) throws IOException {
      super(file, channel, progress);
      try {
        in = new GZIPInputStream(Channels.newInputStream(channel), INFLATER_INPUT);
      } catch (EOFException e) {
        throw new BadInputException(file, "compressed data ends too early", 0, e);
      }
    }

    @Override
    int read() throws IOException {
      return in.read(buffer);
    }

    @Override
    Share share(int reader, int readers) {
      return Share.ofCompressed(reader, readers);
    }

    @Override
    void seek(long offset) {
      if (offset != 0 || at() != 0) {
        throw new IllegalStateException("A compressed file has no positions to go to.");
      }
    }
  }
}
