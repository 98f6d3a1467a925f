/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * How elements of members are combined, one by one: by the core, or by code of the program ({@link
 * #of}). All of the core's are associative and commutative but for the rounding of floating-point
 * numbers; {@link Collectives} says in which order they are combined.
 *
 * @since 0.1
 */
public final class ReduceOp {
  /** Sum. Whole numbers wrap around. */
  public static final ReduceOp SUM = new ReduceOp("SUM", ReduceOp::isNumber);

  /** Product. Whole numbers wrap around. */
  public static final ReduceOp PROD = new ReduceOp("PROD", ReduceOp::isNumber);

  /** The lower one, as {@link Math#min(double, double)}: NaN wins, and -0.0 is below 0.0. */
  public static final ReduceOp MIN = new ReduceOp("MIN", ReduceOp::isNumber);

  /** The higher one, as {@link Math#max(double, double)}: NaN wins, and -0.0 is below 0.0. */
  public static final ReduceOp MAX = new ReduceOp("MAX", ReduceOp::isNumber);

  /**
   * The pair with the lower value; of equal ones that with the lower index. NaN wins, and -0.0 is
   * below 0.0.
   */
  public static final ReduceOp MINLOC = new ReduceOp("MINLOC", DataType::isPair);

  /** The pair with the higher value; else the same. */
  public static final ReduceOp MAXLOC = new ReduceOp("MAXLOC", DataType::isPair);

  /** Bit by bit, of whole numbers. */
  public static final ReduceOp AND = new ReduceOp("AND", DataType::isInteger);

  /** Bit by bit, of whole numbers. */
  public static final ReduceOp OR = new ReduceOp("OR", DataType::isInteger);

  /** Bit by bit, of whole numbers. */
  public static final ReduceOp XOR = new ReduceOp("XOR", DataType::isInteger);

  private static final List<ReduceOp> ALL =
      List.of(SUM, PROD, MIN, MAX, MINLOC, MAXLOC, AND, OR, XOR);

  private final String name;
  private final Predicate<DataType> types;
  private final @Nullable Reducer reducer;
  private final boolean commutative;

  private ReduceOp(String name, Predicate<DataType> types) {
    this(name, types, null, true);
  }

  private ReduceOp(
      String name, Predicate<DataType> types, @Nullable Reducer reducer, boolean commutative) {
    this.name = name;
    this.types = types;
    this.reducer = reducer;
    this.commutative = commutative;
  }

  /**
   * Combines by code of the program, for elements of any type. The elements of all members are
   * brought to member 0, or to the root, and combined there in the order of members, whatever the
   * operator; so all get the same. It is for what the core cannot do: member 0 has the data of all
   * in its heap, up to 2 GiB, and the work of all.
   *
   * <p>If the code throws, the call ends on every member that has not completed it with {@link
   * io.lci.error.CollectiveFailedException}, and so do later ones. A call by such an operator
   * consists of several of the core, as {@link Collectives#allGather(Object, io.lci.Codec)} says,
   * and has no {@link Algorithm}.
   *
   * @param reducer combines, associatively
   * @param commutative whether {@code a b} is {@code b a}; calls of this version do not ask
   * @return the operator
   */
  public static ReduceOp of(Reducer reducer, boolean commutative) {
    Objects.requireNonNull(reducer, "reducer");
    return new ReduceOp("" + reducer, type -> true, reducer, commutative);
  }

  private static boolean isNumber(DataType type) {
    return !type.isPair();
  }

  /** {@return all of the core} */
  public static List<ReduceOp> all() {
    return ALL;
  }

  /**
   * Whether it combines elements of a type.
   *
   * @param type the type of the elements
   * @return whether calls accept it
   */
  public boolean serves(DataType type) {
    return types.test(Objects.requireNonNull(type, "type"));
  }

  /** {@return the code that combines; null: the core does} */
  public @Nullable Reducer reducer() {
    return reducer;
  }

  /** {@return whether the order of two operands does not matter} */
  public boolean isCommutative() {
    return commutative;
  }

  /** {@return its name, such as {@code SUM}, or the text of the reducer} */
  @Override
  public String toString() {
    return name;
  }
}
