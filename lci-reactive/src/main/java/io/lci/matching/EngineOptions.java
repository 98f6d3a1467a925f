/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a matching engine. Immutable.
 *
 * @param store the structure behind it
 * @param makeKey the program's own keys, on every rank or on none; null for rank, tag and policy
 * @since 0.1
 */
public record EngineOptions(Store store, @Nullable MakeKey makeKey) {
  /** The structure that holds sends and receives that are not matched yet. */
  public enum Store {
    /** A hash table. The default. */
    MAP,
    /** Two lists, searched from the start: for debugging. */
    QUEUE
  }

  private static final EngineOptions DEFAULTS = new EngineOptions(Store.MAP, null);

  /** {@return the defaults: a hash table, keys of rank, tag and policy} */
  public static EngineOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the structure.
   *
   * @param value the structure
   * @return new options
   */
  public EngineOptions withStore(Store value) {
    return new EngineOptions(Objects.requireNonNull(value, "store"), makeKey);
  }

  /**
   * Sets the program's own keys. An engine has them on every rank or on none: otherwise sends end
   * in {@link io.lci.error.PortMismatchException}.
   *
   * @param value makes the keys
   * @return new options
   */
  public EngineOptions withKeys(MakeKey value) {
    return new EngineOptions(store, Objects.requireNonNull(value, "keys"));
  }
}
