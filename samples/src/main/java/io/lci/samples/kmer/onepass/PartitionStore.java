/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * What one loop has received, by partition: in memory, and in a file when that is full. Filled by
 * one thread at a time, then read by several, each another partition.
 */
final class PartitionStore implements Closeable {
  /** Takes runs. */
  @FunctionalInterface
  interface RunSink {
    /** Runs in the first {@code length} bytes, which have slack behind them. */
    void runs(byte[] bytes, int length);
  }

  /** What there is of one partition. */
  private static final class Part {
    List<Block> blocks = new ArrayList<>();
    final List<SpillFile.Extent> extents = new ArrayList<>();
    long kmers;
  }

  private final Partitions partitions;
  private final int rank;
  private final long mostBytes;
  private final Path temporary;
  private final Part[] parts;
  private long bytes;
  private @Nullable SpillFile file;
  private boolean closed;

  /**
   * @param mostBytes that are kept in memory
   * @param temporary the folder for a file
   */
  PartitionStore(Partitions partitions, int rank, long mostBytes, Path temporary) {
    this.partitions = partitions;
    this.rank = rank;
    this.mostBytes = mostBytes;
    this.temporary = temporary;
    this.parts = new Part[partitions.of(rank)];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new Part();
    }
  }

  /** Keeps a block. Never waits. */
  void add(Block block) {
    int partition = block.partition();
    if (partition < 0 || partition >= partitions.count() || partitions.owner(partition) != rank) {
      throw new IllegalStateException("a block of partition " + partition + " came to this rank");
    }
    if (!block.isPlausible()) {
      throw new IllegalStateException(
          "a block of partition " + partition + " says that it has " + block.kmers() + " k-mers");
    }
    Part part = parts[partitions.place(partition)];
    part.blocks.add(block);
    part.kmers += block.kmers();
    bytes += block.footprint();
  }

  /** Whether memory is full: then {@link #spill} is due, before the next block. */
  boolean isFull() {
    return bytes >= mostBytes;
  }

  /**
   * Brings everything from memory to the file. May wait for the disk. It stops when the job ends
   * meanwhile, which closes this, or interrupts the thread, which closes the file.
   */
  void spill() {
    try {
      SpillFile to = file();
      for (Part part : parts) {
        to.write(part.blocks, part.extents);
        part.blocks = new ArrayList<>();
      }
      bytes = 0;
    } catch (ClosedChannelException e) {
      close(); // nobody wants it any more; a drain would miss it
    } catch (IOException e) {
      throw new UncheckedIOException(temporary + ": " + e.getMessage(), e);
    }
  }

  private synchronized SpillFile file() throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    SpillFile to = file == null ? SpillFile.create(temporary) : file;
    file = to;
    return to;
  }

  /** K-mers of one of this rank's partitions. */
  long kmers(int place) {
    return parts[place].kmers;
  }

  /**
   * Hands over all runs of one of this rank's partitions, and forgets those in memory.
   *
   * @throws CancellationException if the job ends meanwhile
   */
  void drain(int place, RunSink sink) {
    Part part = parts[place];
    SpillFile from = opened();
    try {
      for (SpillFile.Extent extent : part.extents) {
        if (from != null) {
          sink.runs(from.read(extent), extent.bytes());
        }
      }
    } catch (ClosedChannelException e) {
      throw new CancellationException("the runs are not wanted any more");
    } catch (IOException e) {
      throw new UncheckedIOException(temporary + ": " + e.getMessage(), e);
    }
    for (Block block : part.blocks) {
      sink.runs(block.bytes(), block.length());
    }
    part.blocks = new ArrayList<>();
  }

  private synchronized @Nullable SpillFile opened() {
    return file;
  }

  /** Bytes that went to the file. */
  synchronized long spilled() {
    return file == null ? 0 : file.size();
  }

  @Override
  public synchronized void close() {
    closed = true;
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
