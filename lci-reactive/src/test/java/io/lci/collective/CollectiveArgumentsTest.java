/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.LciRuntime;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a call refuses at once, on member 1 of 3: before anything is subscribed. */
@ExtendWith(LciLeakCheck.class)
class CollectiveArgumentsTest {
  private static final ReduceOp SUM = ReduceOp.SUM;

  private LciTestJob job;
  private LciRuntime lci;
  private World world;

  @BeforeEach
  void start() {
    job = LciTestJob.start(3);
    lci = job.rank(1);
    world = lci.world();
  }

  @AfterEach
  void close() {
    job.close();
  }

  private static Vec longs(int count) {
    return Vec.longs(new long[count]);
  }

  /** Of the group, its contexts, and with an algorithm alike. */
  private void refused(String message, Consumer<Collectives> call) {
    for (Collectives of : new Collectives[] {world, world.context(1), world.with(Algorithm.AUTO)}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> call.accept(of))
          .withMessageContaining(message);
    }
  }

  private void refusedNull(String name, Consumer<Collectives> call) {
    assertThatNullPointerException().isThrownBy(() -> call.accept(world)).withMessage(name);
  }

  @Test
  void nullIsRefused() {
    Vec v = longs(3);
    Vec all = longs(9);
    long[] counts = {3, 3, 3};
    int[] none = {};
    refusedNull("algorithm", c -> c.with(null));
    refusedNull("data", c -> c.broadcast(0, null));
    refusedNull("in", c -> c.reduce(0, null, v, SUM));
    refusedNull("out", c -> c.reduce(1, v, null, SUM));
    refusedNull("op", c -> c.reduce(0, v, null, null));
    refusedNull("in", c -> c.allReduce(null, v, SUM));
    refusedNull("out", c -> c.allReduce(v, null, SUM));
    refusedNull("op", c -> c.allReduce(v, v, null));
    refusedNull("op", c -> c.allReduce(1L, null));
    refusedNull("op", c -> c.allReduce(1.0, null));
    refusedNull("op", c -> c.allReduce(new long[1], null));
    refusedNull("array", c -> c.allReduce((long[]) null, SUM));
    refusedNull("in", c -> c.reduceScatter(null, v, SUM));
    refusedNull("out", c -> c.reduceScatter(all, null, SUM));
    refusedNull("counts", c -> c.reduceScatter(all, v, null, SUM));
    refusedNull("in", c -> c.allGather(null, all));
    refusedNull("out", c -> c.allGather(v, (Vec) null));
    refusedNull("counts", c -> c.allGather(v, all, null));
    refusedNull("in", c -> c.gather(0, null, all));
    refusedNull("out", c -> c.gather(1, v, null));
    refusedNull("out", c -> c.gather(1, v, null, counts));
    refusedNull("counts", c -> c.gather(1, v, all, null));
    refusedNull("in", c -> c.scatter(1, null, v));
    refusedNull("out", c -> c.scatter(0, all, null));
    refusedNull("in", c -> c.scatter(1, null, v, counts));
    refusedNull("counts", c -> c.scatter(1, all, v, null));
    refusedNull("in", c -> c.allToAll(null, all));
    refusedNull("out", c -> c.allToAll(all, null));
    refusedNull("sendCounts", c -> c.allToAll(all, null, all, counts));
    refusedNull("receiveCounts", c -> c.allToAll(all, counts, all, null));
    refusedNull("in", c -> c.scan(null, v, SUM));
    refusedNull("out", c -> c.exclusiveScan(v, null, SUM));
    refusedNull("to", c -> c.neighbours(null, v, none, v));
    refusedNull("in", c -> c.neighbours(none, null, none, v));
    refusedNull("from", c -> c.neighbours(none, v, null, v));
    refusedNull("out", c -> c.neighbours(none, v, none, null));
  }

  @Test
  void aRootIsAMember() {
    for (int root : new int[] {-1, 3}) {
      String message = "root: members are 0 to 2: " + root;
      refused(message, c -> c.broadcast(root, longs(1)));
      refused(message, c -> c.reduce(root, longs(1), longs(1), SUM));
      refused(message, c -> c.gather(root, longs(1), longs(3)));
      refused(message, c -> c.gather(root, longs(1), longs(3), new long[] {1, 1, 1}));
      refused(message, c -> c.scatter(root, longs(3), longs(1)));
      refused(message, c -> c.scatter(root, longs(3), longs(1), new long[] {1, 1, 1}));
    }
  }

  @Test
  void lengthsFitEachOther() {
    Vec v = longs(4);
    refused("out needs 4 elements", c -> c.reduce(1, v, longs(3), SUM));
    refused("out needs 4 elements", c -> c.allReduce(v, longs(5), SUM));
    refused("out needs 4 elements", c -> c.scan(v, longs(3), SUM));
    refused("out needs 4 elements", c -> c.exclusiveScan(v, longs(3), SUM));
    refused("in has 3 blocks of one length", c -> c.reduceScatter(longs(7), longs(2), SUM));
    refused("out needs 2 elements", c -> c.reduceScatter(longs(6), longs(3), SUM));
    refused("out needs 12 elements in a group of 3", c -> c.allGather(v, longs(8)));
    refused("out needs 12 elements", c -> c.gather(1, v, v));
    refused("in needs 12 elements", c -> c.scatter(1, longs(11), v));
    refused("in has 3 blocks of one length", c -> c.allToAll(longs(4), longs(4)));
    refused("out needs 6 elements", c -> c.allToAll(longs(6), longs(3)));
    refused(
        "in has 2 blocks of one length", c -> c.neighbours(ints(0, 2), longs(3), ints(), longs(0)));
    refused(
        "in has 0 blocks of one length", c -> c.neighbours(ints(), longs(3), ints(0), longs(3)));
    refused(
        "blocks have one length: in has 2 elements for each, out 3",
        c -> c.neighbours(ints(0), longs(2), ints(2), longs(3)));
  }

  private static int[] ints(int... values) {
    return values;
  }

  private static long[] counts(long... values) {
    return values;
  }

  @Test
  void countsFitTheirBlocks() {
    Vec v = longs(2);
    Vec all = longs(6);
    refused("counts has a number for each of 3 members: 2", c -> c.allGather(v, all, counts(4, 2)));
    refused("counts does not fit out", c -> c.allGather(v, all, counts(-1, 2, 5)));
    refused("counts does not fit out", c -> c.allGather(v, all, counts(3, 2, 2)));
    refused("counts does not fit out", c -> c.allGather(v, all, counts(6, Long.MAX_VALUE, 0)));
    refused("counts is 5 in all, but out", c -> c.allGather(v, all, counts(1, 2, 2)));
    refused("in needs 3 elements", c -> c.allGather(v, all, counts(1, 3, 2)));
    refused("in needs 3 elements", c -> c.gather(1, v, all, counts(1, 3, 2)));
    refused("counts is 5 in all, but out", c -> c.gather(1, v, all, counts(1, 2, 2)));
    refused("out needs 3 elements", c -> c.scatter(1, all, v, counts(1, 3, 2)));
    refused("counts is 5 in all, but in", c -> c.scatter(1, all, v, counts(1, 2, 2)));
    refused("out needs 3 elements", c -> c.reduceScatter(all, v, counts(1, 3, 2), SUM));
    refused("counts is 5 in all, but in", c -> c.reduceScatter(all, v, counts(1, 2, 2), SUM));
    refused(
        "sendCounts is 5 in all, but in",
        c -> c.allToAll(all, counts(1, 2, 2), longs(6), counts(2, 2, 2)));
    refused(
        "receiveCounts is 5 in all, but out",
        c -> c.allToAll(all, counts(2, 2, 2), longs(6), counts(1, 2, 2)));
    refused(
        "this member has 2 elements for itself, and would get 3",
        c -> c.allToAll(all, counts(2, 2, 2), longs(6), counts(1, 3, 2)));
  }

  @Test
  void theTypesAreOne() {
    Vec doubles = Vec.doubles(new double[6]);
    String message = "in and out have one type";
    refused(message, c -> c.reduce(1, longs(6), doubles, SUM));
    refused(message, c -> c.allReduce(longs(6), doubles, SUM));
    refused(message, c -> c.scan(longs(6), doubles, SUM));
    refused(message, c -> c.exclusiveScan(longs(6), doubles, SUM));
    refused(message, c -> c.reduceScatter(longs(18), doubles, SUM));
    refused(message, c -> c.allGather(longs(2), doubles));
    refused(message, c -> c.allGather(longs(2), doubles, counts(2, 2, 2)));
    refused(message, c -> c.gather(1, longs(2), doubles));
    refused(message, c -> c.scatter(1, longs(18), doubles));
    refused(message, c -> c.allToAll(longs(6), doubles));
    refused(message, c -> c.allToAll(longs(6), counts(2, 2, 2), doubles, counts(2, 2, 2)));
    refused(message, c -> c.neighbours(ints(0), longs(6), ints(0), doubles));
  }

  @Test
  void anOperatorServesTheType() {
    Vec doubles = Vec.doubles(new double[3]);
    Vec out = Vec.doubles(new double[1]);
    String message = "AND does not combine elements of type F64";
    refused(message, c -> c.reduce(0, doubles, null, ReduceOp.AND));
    refused(message, c -> c.allReduce(doubles, doubles, ReduceOp.AND));
    refused(message, c -> c.reduceScatter(doubles, out, ReduceOp.AND));
    refused(message, c -> c.reduceScatter(doubles, out, counts(1, 1, 1), ReduceOp.AND));
    refused(message, c -> c.scan(doubles, doubles, ReduceOp.AND));
    refused(message, c -> c.exclusiveScan(doubles, doubles, ReduceOp.AND));
    refused(message, c -> c.allReduce(1.0, ReduceOp.AND));
    String pairs = "MINLOC does not combine elements of type I64";
    refused(pairs, c -> c.allReduce(1L, ReduceOp.MINLOC));
    refused(pairs, c -> c.allReduce(new long[2], ReduceOp.MINLOC));
  }

  @Test
  void neighboursAreOtherMembers() {
    Vec none = longs(0);
    refused("to: members are 0 to 2: 3", c -> c.neighbours(ints(3), none, ints(), none));
    refused("from: members are 0 to 2: -1", c -> c.neighbours(ints(), none, ints(-1), none));
    refused(
        "to has this member, 1, or one twice: 1", c -> c.neighbours(ints(1), none, ints(), none));
    refused(
        "from has this member, 1, or one twice: 2",
        c -> c.neighbours(ints(), none, ints(2, 2), none));
  }

  @Test
  void aResultCanBeWritten() {
    Vec fixed = Vec.longs(ByteBuffer.allocate(48).asReadOnlyBuffer());
    refused("data is read-only", c -> c.broadcast(0, fixed));
    refused("out is read-only", c -> c.allReduce(longs(6), fixed, SUM));
    refused("out is read-only", c -> c.scatter(0, null, fixed));
    assertThat(world.broadcast(1, fixed)).isNotNull();
    assertThat(world.allReduce(fixed, longs(6), SUM)).isNotNull();
  }

  @Test
  void buffersAreOfThisRuntime() {
    Vec other = Vec.longs(job.rank(0).memory().buffer(24));
    String message = "another runtime made LciBuffer[24 bytes]";
    refused(message, c -> c.broadcast(1, other));
    refused(message, c -> c.allReduce(other, longs(3), SUM));
    refused(message, c -> c.allReduce(longs(3), other, SUM));
    refused(message, c -> c.scatter(0, null, other));
    refused(message, c -> c.neighbours(ints(0), other, ints(0), longs(3)));
  }

  /** In memory of each kind: 9 longs, of which some are in, and some out. */
  private void ranges(Range range) {
    long[] array = new long[9];
    ByteBuffer heap = ByteBuffer.allocate(80).position(8).slice();
    ByteBuffer direct = ByteBuffer.allocateDirect(80).position(8).slice();
    LciBuffer buffer = lci.memory().buffer(72);
    range.check((from, count) -> Vec.longs(array, from, count));
    range.check((from, count) -> Vec.of(DataType.I64, heap, from, count));
    range.check((from, count) -> Vec.longs(heap.slice(from * 8, count * 8)));
    range.check((from, count) -> Vec.of(DataType.I64, direct, from, count));
    range.check((from, count) -> Vec.longs(direct.slice(from * 8, count * 8)));
    range.check((from, count) -> Vec.longs(buffer, from, count));
    range.check((from, count) -> Vec.longs(buffer.view().slice(from * 8, count * 8)));
  }

  private interface Memory {
    Vec vec(int from, int count);
  }

  private interface Range {
    void check(Memory memory);
  }

  @Test
  void inAndOutAreEqualOrDisjoint() {
    String message = "in and out are equal or disjoint";
    ranges(
        m -> {
          refused(message, c -> c.reduce(1, m.vec(0, 4), m.vec(3, 4), SUM));
          refused(message, c -> c.allReduce(m.vec(3, 4), m.vec(0, 4), SUM));
          refused(message, c -> c.scan(m.vec(1, 4), m.vec(0, 4), SUM));
          refused(message, c -> c.exclusiveScan(m.vec(1, 4), m.vec(0, 4), SUM));
          refused(message, c -> c.reduceScatter(m.vec(0, 6), m.vec(0, 2), SUM));
          refused(message, c -> c.reduceScatter(m.vec(0, 6), m.vec(2, 2), counts(2, 2, 2), SUM));
          refused(message, c -> c.allToAll(m.vec(0, 3), m.vec(2, 3)));
          refused(
              message, c -> c.allToAll(m.vec(0, 3), counts(1, 1, 1), m.vec(2, 3), counts(1, 1, 1)));
          refused(message, c -> c.neighbours(ints(0), m.vec(0, 3), ints(0), m.vec(2, 3)));
          assertThat(world.allReduce(m.vec(0, 4), m.vec(0, 4), SUM)).isNotNull();
          assertThat(world.allReduce(m.vec(0, 4), m.vec(4, 4), SUM)).isNotNull();
          assertThat(world.allReduce(m.vec(4, 4), m.vec(0, 4), SUM)).isNotNull();
          assertThat(world.allReduce(m.vec(4, 0), m.vec(4, 0), SUM)).isNotNull();
          assertThat(world.reduce(0, m.vec(0, 4), m.vec(3, 4), SUM)).as("no root").isNotNull();
        });
  }

  @Test
  void inMayBeTheOwnBlockOfOut() {
    String message = "in is the own block of out, or disjoint";
    ranges(
        m -> {
          refused(message, c -> c.allGather(m.vec(0, 2), m.vec(0, 6)));
          refused(message, c -> c.allGather(m.vec(4, 2), m.vec(0, 6), counts(3, 2, 1)));
          refused(message, c -> c.gather(1, m.vec(3, 2), m.vec(0, 6)));
          refused(message, c -> c.gather(1, m.vec(2, 2), m.vec(0, 6), counts(3, 2, 1)));
          assertThat(world.allGather(m.vec(2, 2), m.vec(0, 6))).isNotNull();
          assertThat(world.allGather(m.vec(6, 2), m.vec(0, 6))).isNotNull();
          assertThat(world.allGather(m.vec(3, 2), m.vec(0, 6), counts(3, 2, 1))).isNotNull();
          assertThat(world.gather(1, m.vec(3, 2), m.vec(1, 6))).isNotNull();
          assertThat(world.gather(1, m.vec(4, 2), m.vec(1, 6), counts(3, 2, 1))).isNotNull();
          assertThat(world.gather(0, m.vec(3, 2), m.vec(0, 6))).as("no root").isNotNull();
        });
  }

  @Test
  void outMayBeTheOwnBlockOfIn() {
    String message = "out is the own block of in, or disjoint";
    ranges(
        m -> {
          refused(message, c -> c.scatter(1, m.vec(0, 6), m.vec(3, 2)));
          refused(message, c -> c.scatter(1, m.vec(0, 6), m.vec(2, 2), counts(3, 2, 1)));
          assertThat(world.scatter(1, m.vec(1, 6), m.vec(3, 2))).isNotNull();
          assertThat(world.scatter(1, m.vec(0, 6), m.vec(3, 2), counts(3, 2, 1))).isNotNull();
          assertThat(world.scatter(1, m.vec(0, 6), m.vec(6, 2))).isNotNull();
        });
  }

  @Test
  void anAlgorithmBelongsToItsCalls() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> world.with(Algorithm.RING).barrier())
        .withMessage(
            "RING is no algorithm of barrier; those are"
                + " [DISSEMINATION, ARENA_LINE, HIERARCHICAL]");
    Collectives linear = world.with(Algorithm.LINEAR);
    assertThatIllegalArgumentException().isThrownBy(() -> linear.broadcast(0, longs(1)));
    assertThatIllegalArgumentException().isThrownBy(() -> linear.reduce(0, longs(1), null, SUM));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> linear.allReduce(longs(1), longs(1), SUM));
    assertThatIllegalArgumentException().isThrownBy(() -> linear.allReduce(1L, SUM));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> linear.reduceScatter(longs(3), longs(1), SUM));
    assertThatIllegalArgumentException().isThrownBy(() -> linear.allGather(longs(1), longs(3)));
    assertThatIllegalArgumentException().isThrownBy(() -> linear.allToAll(longs(3), longs(3)));
    assertThatIllegalArgumentException().isThrownBy(() -> linear.scan(longs(1), longs(1), SUM));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> linear.exclusiveScan(longs(1), longs(1), SUM));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> linear.neighbours(ints(), longs(0), ints(), longs(0)));
    Collectives bruck = world.with(Algorithm.BRUCK);
    assertThatIllegalArgumentException().isThrownBy(() -> bruck.gather(0, longs(1), null));
    assertThatIllegalArgumentException().isThrownBy(() -> bruck.scatter(0, null, longs(1)));
    assertThat(linear.gather(0, longs(1), null)).isNotNull();
    assertThat(linear).hasToString(world + " by LINEAR");
  }

  /** A file without blocks: nothing of it is touched. */
  @Test
  void oneCallCopiesLessThanTwoGiB(@TempDir Path folder) throws IOException {
    Vec half = Vec.bytes(mapped(folder.resolve("half")));
    Vec other = Vec.bytes(mapped(folder.resolve("other")));
    refused("lay what is longer than 2 GiB into LciBuffers", c -> c.allReduce(half, other, SUM));
    assertThat(world.allReduce(half, half, SUM)).isNotNull();
  }

  private static ByteBuffer mapped(Path file) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, 1 << 30);
    }
  }
}
