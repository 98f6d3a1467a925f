/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Algorithm;
import io.lci.collective.DataType;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A call of a group: what this member says of it, and where its data lies. Data that is not used in
 * place is copied into memory that the slot of the call owns, behind the list of counts. Immutable.
 */
public final class CallData implements CallContent {
  /** Parts of that memory begin at lines of their own. */
  private static final long LINE = 64;

  /** The longest buffer, and room to spare. */
  private static final long MOST_COPIED = Integer.MAX_VALUE - LINE;

  private static final long[] NO_COUNTS = {};

  public final CollectiveKind kind;
  private final Algorithm algorithm;
  private final int root;
  private final int op;
  private final int typeAndAlgorithm;
  private final @Nullable Vec in;
  private final @Nullable Vec out;
  private final long count;
  private final long[] counts;

  /** Whether the core reads {@link #out}, which is what a root broadcasts. */
  private final boolean readsOut;

  /** Whether it writes there. */
  private final boolean writesOut;

  /** Where parts begin in the memory beside the call, and its bytes. */
  private final int inAt;

  private final int outAt;
  private final int beside;

  private CallData(Builder of) {
    this.kind = of.kind;
    this.algorithm = of.algorithm;
    this.root = of.root;
    this.op = of.op == null ? 0 : number(of.op);
    this.in = of.in;
    this.out = of.out;
    this.count = of.count;
    this.counts = of.counts;
    this.readsOut = of.readsOut;
    this.writesOut = of.writesOut;
    Vec some = in != null ? in : out;
    this.typeAndAlgorithm = (some == null ? 0 : number(some.type())) | algorithm.ordinal() << 8;
    long behindCounts = line((long) counts.length * Long.BYTES);
    long behindIn = behindCounts + copied(in);
    boolean same = isSame(in, out);
    long end = same ? behindIn : behindIn + copied(out);
    if (end > MOST_COPIED) {
      throw new IllegalArgumentException(
          kind + " would copy " + end + " bytes; lay what is longer than 2 GiB into LciBuffers");
    }
    this.inAt = (int) behindCounts;
    this.outAt = (int) (same ? behindCounts : behindIn);
    this.beside = (int) end;
  }

  /** What the core calls it. */
  static int number(DataType type) {
    return type.ordinal() + Codes.TYPE_I8;
  }

  /** What the core calls it; 0: it has no such operator. */
  static int number(ReduceOp op) {
    return op.reducer() != null ? 0 : ReduceOp.all().indexOf(op) + Codes.REDUCE_SUM;
  }

  private static long line(long bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
  }

  /** Bytes in the memory beside the call. */
  private static long copied(@Nullable Vec vec) {
    return vec == null || VecMemory.isInPlace(vec) ? 0 : line(vec.bytes());
  }

  private static boolean isSame(@Nullable Vec one, @Nullable Vec other) {
    return one != null
        && other != null
        && one.memory() == other.memory()
        && one.offset() == other.offset()
        && one.bytes() == other.bytes();
  }

  @Override
  public CollectiveKind kind() {
    return kind;
  }

  @Override
  public Algorithm algorithm() {
    return algorithm;
  }

  /** Slots that {@link #writeWithoutMemory} takes. */
  public int slotsWithoutMemory() {
    return Layout.COLLECTIVE_SIZE / Long.BYTES + counts.length;
  }

  /** An {@code lci_collective} from a slot on, and its list of counts behind it. */
  public void writeWithoutMemory(NativeScratch to, int slot) {
    ByteBuffer words = to.buffer();
    int at = slot * Long.BYTES;
    int list = slot + Layout.COLLECTIVE_SIZE / Long.BYTES;
    words.putInt(at + Layout.COLLECTIVE_KIND, kind.number);
    words.putInt(at + Layout.COLLECTIVE_ALGORITHM, typeAndAlgorithm >> 8);
    words.putInt(at + Layout.COLLECTIVE_TYPE, typeAndAlgorithm & 0xFF);
    words.putInt(at + Layout.COLLECTIVE_OP, op);
    words.putInt(at + Layout.COLLECTIVE_ROOT, root);
    words.putLong(at + Layout.COLLECTIVE_COUNT, count);
    words.putLong(at + Layout.COLLECTIVE_COUNTS, counts.length == 0 ? 0 : to.address(list));
    for (int i = 0; i < counts.length; i++) {
      to.putLong(list + i, counts[i]);
    }
  }

  /** For those who read: what it says of itself. */
  public String description() {
    return CallNames.call(
        kind.number, root, op, typeAndAlgorithm & 0xFF, typeAndAlgorithm >> 8, count);
  }

  @Override
  public void encode(PostWriter writer) {
    writer.flags = Codes.FLAG_SIGNAL;
    writer.policy = op;
    writer.collective(kind, root, typeAndAlgorithm);
    if (in == null && out == null) {
      writer.collectiveData(0, 0, count, 0);
      return;
    }
    PooledBuffer memory = writer.beside(beside, this);
    for (int i = 0; i < counts.length; i++) {
      memory.memory.putLong(i * Long.BYTES, counts[i]);
    }
    copyIn(memory, in, inAt);
    if (readsOut) {
      copyIn(memory, out, outAt);
    }
    writer.collectiveData(
        address(memory, in, inAt),
        address(memory, out, outAt),
        count,
        counts.length == 0 ? 0 : memory.address);
  }

  private static void copyIn(PooledBuffer memory, @Nullable Vec vec, int at) {
    if (vec != null && !VecMemory.isInPlace(vec)) {
      VecMemory.read(vec, memory.memory, at);
    }
  }

  private static long address(PooledBuffer memory, @Nullable Vec vec, int at) {
    if (vec == null) {
      return 0;
    }
    return VecMemory.isInPlace(vec) ? VecMemory.address(vec) : memory.address + at;
  }

  @Override
  public void copyOut(long number, @Nullable PooledBuffer memory) {
    if (writesOut && out != null && !VecMemory.isInPlace(out)) {
      VecMemory.write(Objects.requireNonNull(memory).memory, outAt, out);
    }
  }

  @Override
  public String toString() {
    return kind.operation();
  }

  /** Says what a call is. */
  public static final class Builder {
    private final CollectiveKind kind;
    private final Algorithm algorithm;
    private int root;
    private @Nullable ReduceOp op;
    private @Nullable Vec in;
    private @Nullable Vec out;
    private long count;
    private long[] counts = NO_COUNTS;
    private boolean readsOut;
    private boolean writesOut;

    public Builder(CollectiveKind kind, Algorithm algorithm) {
      this.kind = kind;
      this.algorithm = algorithm;
    }

    public Builder root(int member) {
      root = member;
      return this;
    }

    public Builder op(ReduceOp value) {
      op = value;
      return this;
    }

    public Builder reads(@Nullable Vec vec) {
      in = vec;
      return this;
    }

    /** The result. */
    public Builder writes(@Nullable Vec vec) {
      out = vec;
      writesOut = true;
      return this;
    }

    /** In place of a result: what the core does not write. */
    public Builder leaves(Vec vec, boolean read) {
      out = vec;
      readsOut = read;
      return this;
    }

    /** Elements of a block. */
    public Builder count(long elements) {
      count = elements;
      return this;
    }

    public Builder counts(long... list) {
      counts = list;
      return this;
    }

    public CallData build() {
      return new CallData(this);
    }
  }
}
