/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Elements in memory of the program. */
@ExtendWith(LciLeakCheck.class)
class VecTest {
  private static void assertVec(Vec vec, DataType type, long offset, long count) {
    assertThat(vec.type()).isEqualTo(type);
    assertThat(vec.offset()).isEqualTo(offset);
    assertThat(vec.count()).isEqualTo(count);
    assertThat(vec.bytes()).isEqualTo(count * type.bytes());
  }

  @Test
  void arraysHaveTheElementsOfTheirType() {
    assertVec(Vec.bytes(new byte[3]), DataType.I8, 0, 3);
    assertVec(Vec.ints(new int[3]), DataType.I32, 0, 3);
    assertVec(Vec.longs(new long[3]), DataType.I64, 0, 3);
    assertVec(Vec.floats(new float[3]), DataType.F32, 0, 3);
    assertVec(Vec.doubles(new double[3]), DataType.F64, 0, 3);
    assertVec(Vec.bytes(new byte[9], 1, 2), DataType.I8, 1, 2);
    assertVec(Vec.ints(new int[9], 1, 2), DataType.I32, 4, 2);
    assertVec(Vec.longs(new long[9], 1, 2), DataType.I64, 8, 2);
    assertVec(Vec.floats(new float[9], 1, 2), DataType.F32, 4, 2);
    assertVec(Vec.doubles(new double[9], 1, 2), DataType.F64, 8, 2);
  }

  @Test
  void aByteBufferHasThemBetweenItsPositionAndItsLimit() {
    for (ByteBuffer buffer : List.of(ByteBuffer.allocate(64), ByteBuffer.allocateDirect(64))) {
      buffer.position(8).limit(48);
      assertVec(Vec.bytes(buffer), DataType.I8, 0, 40);
      assertVec(Vec.ints(buffer), DataType.I32, 0, 10);
      assertVec(Vec.longs(buffer), DataType.I64, 0, 5);
      assertVec(Vec.floats(buffer), DataType.F32, 0, 10);
      assertVec(Vec.doubles(buffer), DataType.F64, 0, 5);
      Vec vec = Vec.of(DataType.U16, buffer, 1, 2);
      assertVec(vec, DataType.U16, 2, 2);
      buffer.position(16);
      assertThat(((ByteBuffer) vec.memory()).capacity()).isEqualTo(40);
    }
  }

  @Test
  void aBufferOfTheRuntimeHasThem() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciBuffer buffer = job.rank(0).memory().buffer(48);
      assertVec(Vec.bytes(buffer), DataType.I8, 0, 48);
      assertVec(Vec.ints(buffer), DataType.I32, 0, 12);
      assertVec(Vec.longs(buffer), DataType.I64, 0, 6);
      assertVec(Vec.floats(buffer), DataType.F32, 0, 12);
      assertVec(Vec.doubles(buffer), DataType.F64, 0, 6);
      assertVec(Vec.bytes(buffer, 2, 3), DataType.I8, 2, 3);
      assertVec(Vec.ints(buffer, 2, 3), DataType.I32, 8, 3);
      assertVec(Vec.longs(buffer, 2, 3), DataType.I64, 16, 3);
      assertVec(Vec.floats(buffer, 2, 3), DataType.F32, 8, 3);
      assertVec(Vec.doubles(buffer, 2, 3), DataType.F64, 16, 3);
      Vec pairs = Vec.of(DataType.F64_I64, buffer, 1, 2);
      assertVec(pairs, DataType.F64_I64, 16, 2);
      assertThat(pairs.memory()).isSameAs(buffer);
      assertThat(pairs).hasToString("Vec[2 F64_I64 at byte 16 of LciBuffer[48 bytes]]");
    }
  }

  @Test
  void theSameBytesMayBeElementsOfAnotherType() {
    assertVec(Vec.longs(new long[6], 2, 4).as(DataType.I64_I64), DataType.I64_I64, 16, 2);
    assertVec(Vec.bytes(new byte[16], 3, 8).as(DataType.F64), DataType.F64, 3, 1);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Vec.longs(new long[3]).as(DataType.I64_I64))
        .withMessage("24 bytes are no whole elements of I64_I64, which have 16");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Vec.longs(ByteBuffer.allocate(12)))
        .withMessage("12 bytes are no whole elements of I64, which have 8");
  }

  @Test
  void elementsLieInTheirMemory() {
    for (int[] range :
        List.of(new int[] {-1, 1}, new int[] {0, 4}, new int[] {3, 1}, new int[] {1, -1})) {
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> Vec.longs(new long[3], range[0], range[1]));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> Vec.of(DataType.I64, ByteBuffer.allocate(31), range[0], range[1]));
    }
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> Vec.of(DataType.I64, ByteBuffer.allocate(32), Long.MAX_VALUE / 8, 1));
  }

  @Test
  void nullIsRefusedAtOnce() {
    assertThatNullPointerException()
        .isThrownBy(() -> Vec.longs((long[]) null))
        .withMessage("array");
    assertThatNullPointerException()
        .isThrownBy(() -> Vec.longs((ByteBuffer) null))
        .withMessage("buffer");
    assertThatNullPointerException()
        .isThrownBy(() -> Vec.doubles((LciBuffer) null, 0, 1))
        .withMessage("buffer");
    assertThatNullPointerException()
        .isThrownBy(() -> Vec.of(null, ByteBuffer.allocate(1), 0, 1))
        .withMessage("type");
    assertThatNullPointerException().isThrownBy(() -> Vec.ints(new int[1]).as(null));
  }

  @Test
  void operatorsServeTheirTypes() {
    for (DataType type : DataType.values()) {
      for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MIN, ReduceOp.MAX)) {
        assertThat(op.serves(type)).as(op + " " + type).isEqualTo(!type.isPair());
      }
      for (ReduceOp op : List.of(ReduceOp.AND, ReduceOp.OR, ReduceOp.XOR)) {
        assertThat(op.serves(type)).as(op + " " + type).isEqualTo(type.isInteger());
      }
      for (ReduceOp op : List.of(ReduceOp.MINLOC, ReduceOp.MAXLOC)) {
        assertThat(op.serves(type)).as(op + " " + type).isEqualTo(type.isPair());
      }
      assertThat(type.isPair()).isEqualTo(type.name().contains("_"));
      assertThat(type.isInteger()).isEqualTo(type.name().matches("[IU]\\d+"));
    }
    assertThat(ReduceOp.all()).hasSize(9).doesNotHaveDuplicates();
  }
}
