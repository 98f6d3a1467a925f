/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.samples.kmer.common.PackedBases;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Runs that memory had no room for. The file loses its name as soon as it is open, so that nothing
 * is left of what was written however the process ends. Java makes no file without a name, so a
 * process that is killed just then leaves an empty one. Written by one thread at a time, read by
 * any.
 */
final class SpillFile implements Closeable {
  /** Bytes of an extent, if not for a longer block: it is read as a whole. */
  private static final int EXTENT = 1 << 20;

  /**
   * Runs of one partition, side by side.
   *
   * @param offset where they begin
   * @param bytes how many there are
   */
  record Extent(long offset, int bytes) {}

  private final FileChannel channel;
  private long end;

  private SpillFile(FileChannel channel) {
    this.channel = channel;
  }

  static SpillFile create(Path folder) throws IOException {
    Path file = Files.createTempFile(folder, "lci-kmer-", ".spill");
    try {
      return new SpillFile(
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE));
    } finally {
      Files.delete(file);
    }
  }

  /** Writes the blocks of a partition, and adds to {@code extents} where they are. */
  void write(List<Block> blocks, List<Extent> extents) throws IOException {
    long begin = end;
    for (Block block : blocks) {
      if (end > begin && end + block.length() - begin > EXTENT) {
        extents.add(new Extent(begin, (int) (end - begin)));
        begin = end;
      }
      ByteBuffer runs = ByteBuffer.wrap(block.bytes(), 0, block.length());
      while (runs.hasRemaining()) {
        end += channel.write(runs, end);
      }
    }
    if (end > begin) {
      extents.add(new Extent(begin, (int) (end - begin)));
    }
  }

  /** The runs of an extent, and {@link PackedBases#SLACK}. */
  byte[] read(Extent extent) throws IOException {
    byte[] bytes = new byte[extent.bytes() + PackedBases.SLACK];
    ByteBuffer into = ByteBuffer.wrap(bytes, 0, extent.bytes());
    while (into.hasRemaining()) {
      if (channel.read(into, extent.offset() + into.position()) < 0) {
        throw new IOException("a temporary file of " + end + " bytes ends at once");
      }
    }
    return bytes;
  }

  /** Bytes that were written. */
  long size() {
    return end;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
