/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.lane.VecMemory;
import java.util.BitSet;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What the arguments of a call must be, for a group of so many members. Any thread. */
final class CallCheck {
  private final Object runtime;
  private final int size;

  /**
   * @param runtime whose buffers they are
   * @param size members
   */
  CallCheck(Object runtime, int size) {
    this.runtime = runtime;
    this.size = size;
  }

  void serves(Algorithm algorithm, CollectiveKind kind) {
    if (algorithm != Algorithm.AUTO && !kind.algorithms().contains(algorithm)) {
      throw new IllegalArgumentException(
          algorithm + " is no algorithm of " + kind + "; those are " + kind.algorithms());
    }
  }

  void root(int root) {
    if (root < 0 || root >= size) {
      throw new IllegalArgumentException("root: " + members() + root);
    }
  }

  private String members() {
    return "members are 0 to " + (size - 1) + ": ";
  }

  /** Of this runtime, and not null. */
  Vec vec(String name, @Nullable Vec vec) {
    VecMemory.check(Objects.requireNonNull(vec, name), runtime);
    return vec;
  }

  void writable(String name, Vec vec) {
    if (VecMemory.isReadOnly(vec)) {
      throw new IllegalArgumentException(name + " is read-only: " + vec);
    }
  }

  void elements(String name, Vec vec, long count) {
    if (vec.count() != count) {
      throw new IllegalArgumentException(
          name + " needs " + count + " elements in a group of " + size + ": " + vec);
    }
  }

  /** Where a result of so many elements goes that has the type of {@code in}. */
  Vec result(Vec in, @Nullable Vec given, long count) {
    Vec out = vec("out", given);
    writable("out", out);
    elements("out", out, count);
    if (in.type() != out.type()) {
      throw new IllegalArgumentException("in and out have one type: " + in + ", " + out);
    }
    return out;
  }

  void op(ReduceOp op, Vec in) {
    if (!Objects.requireNonNull(op, "op").serves(in.type())) {
      throw new IllegalArgumentException(op + " does not combine elements of type " + in.type());
    }
  }

  /** Elements of one of as many blocks as there are members. */
  long block(String name, Vec vec) {
    return block(name, vec, size);
  }

  /** Elements of one of so many blocks. */
  long block(String name, Vec vec, int blocks) {
    if (blocks == 0 ? vec.count() != 0 : vec.count() % blocks != 0) {
      throw new IllegalArgumentException(name + " has " + blocks + " blocks of one length: " + vec);
    }
    return blocks == 0 ? 0 : vec.count() / blocks;
  }

  /** Elements of each block of {@code vec}; a copy, of which nothing changes any more. */
  long[] counts(String name, long @Nullable [] given, String of, Vec vec) {
    long[] counts = Objects.requireNonNull(given, name).clone();
    if (counts.length != size) {
      throw new IllegalArgumentException(
          name + " has a number for each of " + size + " members: " + counts.length);
    }
    long sum = 0;
    for (long count : counts) {
      if (count < 0 || count > vec.count() - sum) {
        throw new IllegalArgumentException(name + " does not fit " + of + ": " + vec);
      }
      sum += count;
    }
    if (sum != vec.count()) {
      throw new IllegalArgumentException(name + " is " + sum + " in all, but " + of + ": " + vec);
    }
    return counts;
  }

  /** Members beside {@code own}, none twice. */
  void others(String name, int[] members, int own) {
    BitSet known = new BitSet(size);
    for (int member : Objects.requireNonNull(members, name)) {
      if (member < 0 || member >= size) {
        throw new IllegalArgumentException(name + ": " + members() + member);
      }
      if (member == own || known.get(member)) {
        throw new IllegalArgumentException(
            name + " has this member, " + own + ", or one twice: " + member);
      }
      known.set(member);
    }
  }

  // Ranges

  /** Equal, or without a byte in common. */
  void apart(Vec in, Vec out) {
    long distance = VecMemory.distance(in, out);
    boolean equal = distance == 0 && in.bytes() == out.bytes();
    if (!equal && overlap(in, out, distance)) {
      throw overlapping("in and out are equal or disjoint", in, out);
    }
  }

  /** Disjoint, or {@code in} lies in {@code out} so many bytes from its start. */
  void ownBlock(Vec in, Vec out, long offset) {
    long distance = VecMemory.distance(in, out);
    if (distance != -offset && overlap(in, out, distance)) {
      throw overlapping("in is the own block of out, or disjoint", in, out);
    }
  }

  /** Disjoint, or {@code out} lies in {@code in} so many bytes from its start. */
  void blockOf(Vec in, Vec out, long offset) {
    long distance = VecMemory.distance(in, out);
    if (distance != offset && overlap(in, out, distance)) {
      throw overlapping("out is the own block of in, or disjoint", in, out);
    }
  }

  /** Without a byte in common. */
  void disjoint(@Nullable Vec one, Vec out) {
    if (one != null && overlap(one, out, VecMemory.distance(one, out))) {
      throw overlapping("a result lies in memory of another run", one, out);
    }
  }

  private static boolean overlap(Vec in, Vec out, long distance) {
    return distance != VecMemory.ELSEWHERE
        && distance < in.bytes()
        && distance > -out.bytes()
        && in.bytes() > 0
        && out.bytes() > 0;
  }

  private static IllegalArgumentException overlapping(String rule, Vec in, Vec out) {
    return new IllegalArgumentException(rule + ": " + in + ", " + out);
  }
}
