/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Algorithm;
import io.lci.nativebridge.Codes;
import java.util.BitSet;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An agreement of the members of a group, once: the value of this one, and then the outcome. */
public final class AgreeData implements CallContent {
  /**
   * What all members get alike.
   *
   * @param number of the agreement
   * @param value the bits that all have set which took part
   * @param dead members that some member knew to be gone
   */
  public record Outcome(long number, long value, BitSet dead) {}

  private final long value;
  private final int members;
  private @Nullable Outcome outcome;

  public AgreeData(long value, int members) {
    this.value = value;
    this.members = members;
  }

  /** After its end. */
  public Outcome outcome() {
    return Objects.requireNonNull(outcome);
  }

  @Override
  public CollectiveKind kind() {
    return CollectiveKind.AGREE;
  }

  @Override
  public Algorithm algorithm() {
    return Algorithm.AUTO;
  }

  @Override
  public void encode(PostWriter writer) {
    writer.flags = Codes.FLAG_SIGNAL;
    writer.policy = 0;
    writer.collective(CollectiveKind.AGREE, 0, 0);
    PooledBuffer memory = writer.beside(Long.BYTES + members, this);
    writer.collectiveData(value, memory.address, 0, 0);
  }

  @Override
  public void copyOut(long number, @Nullable PooledBuffer memory) {
    PooledBuffer result = Objects.requireNonNull(memory);
    BitSet dead = new BitSet(members);
    for (int member = 0; member < members; member++) {
      dead.set(member, result.memory.get(Long.BYTES + member) != 0);
    }
    outcome = new Outcome(number, result.memory.getLong(0), dead);
  }

  @Override
  public String toString() {
    return kind().operation();
  }
}
