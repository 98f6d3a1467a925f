/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * How elements of members are combined, one by one. All of these are associative and commutative
 * but for the rounding of floating-point numbers; {@link Collectives} says in which order they are
 * combined.
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

  private ReduceOp(String name, Predicate<DataType> types) {
    this.name = name;
    this.types = types;
  }

  private static boolean isNumber(DataType type) {
    return !type.isPair();
  }

  /** {@return all of them} */
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

  /** {@return its name, such as {@code SUM}} */
  @Override
  public String toString() {
    return name;
  }
}
