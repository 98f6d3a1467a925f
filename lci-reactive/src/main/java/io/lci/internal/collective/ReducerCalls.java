/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.DataType;
import io.lci.collective.ReduceOp;
import io.lci.collective.Reducer;
import io.lci.collective.Vec;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.VecMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Calls that combine by code of the program: one member has the data of all, and combines it in the
 * order of members. Loop only.
 */
final class ReducerCalls {
  private static final byte[] NOTHING = {};

  private final Parts parts;
  private final ValueCalls values;
  private final Reducer reducer;
  private final int own;
  private final int size;

  ReducerCalls(Parts parts, ReduceOp op) {
    this.parts = parts;
    this.values = new ValueCalls(parts);
    this.reducer = Objects.requireNonNull(op.reducer());
    this.own = parts.own();
    this.size = parts.size();
  }

  /** The others have done their part before it is known whether the code throws. */
  Mono<Void> reduce(int root, Vec in, @Nullable Vec out) {
    Mono<byte[]> all = gathered(root, in);
    parts.settled();
    if (own != root) {
      return all.then();
    }
    Vec result = Objects.requireNonNull(out);
    return all.doOnNext(blocks -> write(reducedHere(in.type(), blocks), result)).then();
  }

  private byte[] reducedHere(DataType type, byte[] blocks) {
    Content reduced = Content.of(() -> reduced(type, blocks));
    if (reduced.failed()) {
      throw parts.gaveUp(Objects.requireNonNull(reduced.thrown()));
    }
    return reduced.bytes();
  }

  Mono<Void> allReduce(Vec in, Vec out) {
    return gathered(0, in)
        .flatMap(all -> values.fromRoot(0, atFirst(() -> reduced(in.type(), all))))
        .doOnNext(result -> write(result.bytes(), out))
        .then();
  }

  /**
   * @param counts elements of each block; null: all have as many as {@code out}
   */
  Mono<Void> reduceScatter(Vec in, Vec out, long @Nullable [] counts) {
    long[] list = counts == null ? equal(out.count()) : counts;
    return scattered(in, out, list, all -> reduced(in.type(), all));
  }

  Mono<Void> scan(Vec in, Vec out) {
    return scattered(in, out, equal(in.count()), all -> prefixes(in.type(), all));
  }

  Mono<Void> exclusiveScan(Vec in, Vec out) {
    return scattered(in, own == 0 ? null : out, equal(in.count()), all -> before(in.type(), all));
  }

  private long[] equal(long count) {
    long[] counts = new long[size];
    Arrays.fill(counts, count);
    return counts;
  }

  // Moving

  /** The blocks of all members, at the root. */
  private Mono<byte[]> gathered(int root, Vec in) {
    byte[] all = own == root ? PooledBuffer.heap((int) in.bytes() * size) : NOTHING;
    Vec to = own == root ? Vec.bytes(all).as(in.type()) : null;
    return parts.make(parts.maker().gather(root, in, to)).thenReturn(all);
  }

  private interface Code {
    byte[] run(byte[] blocks);
  }

  private @Nullable Content atFirst(Callable<byte[]> code) {
    return own == 0 ? Content.of(code) : null;
  }

  /**
   * What the code makes at member 0, of which member {@code i} gets block {@code i}.
   *
   * @param out null: the block of this member means nothing
   */
  private Mono<Void> scattered(Vec in, @Nullable Vec out, long[] counts, Code code) {
    long[] bytes = LongStream.of(counts).map(count -> count * in.type().bytes()).toArray();
    byte[] block = PooledBuffer.heap((int) bytes[own]);
    return gathered(0, in)
        .flatMap(
            all -> {
              Content made = atFirst(() -> code.run(all));
              Content word = made == null || made.failed() ? made : made.without();
              return values.fromRoot(0, word, () -> scatter(made, bytes, block));
            })
        .doOnNext(
            done -> {
              if (out != null) {
                write(block, out);
              }
            })
        .then();
  }

  private Mono<Void> scatter(@Nullable Content made, long[] bytes, byte[] block) {
    Vec all = made == null ? null : Vec.bytes(made.bytes());
    return parts.make(parts.maker().scatter(0, all, Vec.bytes(block), bytes));
  }

  /** As a call of the core does, not after the subscriber has left. */
  private void write(byte[] result, Vec out) {
    if (!parts.isOver()) {
      VecMemory.put(result, out);
    }
  }

  // Combining

  private byte[] reduced(DataType type, byte[] blocks) {
    int length = blocks.length / size;
    byte[] result = Arrays.copyOf(blocks, length);
    for (int member = 1; member < size; member++) {
      combine(type, result, 0, blocks, member * length, length);
    }
    return result;
  }

  /** Block {@code i} is that of members 0 to {@code i}. */
  private byte[] prefixes(DataType type, byte[] blocks) {
    int length = blocks.length / size;
    byte[] result = Arrays.copyOf(blocks, blocks.length);
    for (int at = length; at < result.length; at += length) {
      System.arraycopy(result, at - length, result, at, length);
      combine(type, result, at, blocks, at, length);
    }
    return result;
  }

  /** Block {@code i} is that of members 0 to {@code i - 1}; the first one means nothing. */
  private byte[] before(DataType type, byte[] blocks) {
    int length = blocks.length / size;
    byte[] prefixes = prefixes(type, Arrays.copyOf(blocks, blocks.length));
    System.arraycopy(prefixes, 0, prefixes, length, blocks.length - length);
    return prefixes;
  }

  private void combine(DataType type, byte[] left, int at, byte[] right, int from, int length) {
    ByteBuffer of = ByteBuffer.wrap(right, from, length).slice().asReadOnlyBuffer();
    reducer.reduce(
        type,
        ByteBuffer.wrap(left, at, length).slice().order(ByteOrder.LITTLE_ENDIAN),
        of.order(ByteOrder.LITTLE_ENDIAN));
  }
}
