/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a matching engine. Immutable.
 *
 * @since 0.1
 */
public final class EngineOptions {
  /** The structure that holds sends and receives that are not matched yet. */
  public enum Store {
    /** A hash table. The default. */
    MAP,
    /** Two lists, searched from the start: for debugging. */
    QUEUE
  }

  private static final EngineOptions DEFAULTS = builder().build();

  private final Store store;
  private final @Nullable MakeKey keys;

  private EngineOptions(Builder b) {
    store = b.store;
    keys = b.keys;
  }

  /** {@return the defaults: a hash table, keys of rank, tag and policy} */
  public static EngineOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a builder that starts from the defaults} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a builder that starts from these options} */
  public Builder mutate() {
    return new Builder(this);
  }

  /** {@return the structure behind the engine} */
  public Store store() {
    return store;
  }

  /** {@return the program's own keys, or null for rank, tag and policy} */
  public @Nullable MakeKey keys() {
    return keys;
  }

  @Override
  public String toString() {
    return "EngineOptions[store=" + store + ", keys=" + keys + ']';
  }

  /** Builds {@link EngineOptions}. Not thread-safe. */
  public static final class Builder {
    private Store store = Store.MAP;
    private @Nullable MakeKey keys;

    private Builder() {}

    private Builder(EngineOptions o) {
      store = o.store;
      keys = o.keys;
    }

    /**
     * Sets the structure.
     *
     * @param value the structure
     * @return this
     */
    public Builder store(Store value) {
      store = Objects.requireNonNull(value, "store");
      return this;
    }

    /**
     * Sets the program's own keys. An engine has them on every rank or on none: otherwise sends end
     * in {@link io.lci.error.PortMismatchException}.
     *
     * @param value makes the keys; null: keys of rank, tag and policy
     * @return this
     */
    public Builder keys(@Nullable MakeKey value) {
      keys = value;
      return this;
    }

    /** {@return the options} */
    public EngineOptions build() {
      return new EngineOptions(this);
    }
  }
}
