/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import java.util.Objects;

/**
 * Options of a stream of a group. They say what this member does: others may have different ones.
 * Immutable.
 *
 * @since 0.1
 */
public final class StreamOptions {
  /** Default of {@link #windowItems()}. */
  public static final int DEFAULT_WINDOW_ITEMS = 32;

  /** Most {@link #windowItems()}. */
  public static final int MAX_WINDOW_ITEMS = 4_096;

  /** Default of {@link #windowBytes()}. */
  public static final int DEFAULT_WINDOW_BYTES = 256 << 10;

  /** Least {@link #windowBytes()}. */
  public static final int MIN_WINDOW_BYTES = 1 << 10;

  /** Most {@link #windowBytes()}. */
  public static final int MAX_WINDOW_BYTES = 4 << 20;

  private static final StreamOptions DEFAULTS = builder().build();

  /** The effect on a shuffle or a gather when the subscriber of one member cancels. */
  public enum OnCancel {
    /** It ends on every member, and all sources are cancelled. The default. */
    FAIL,
    /** It goes on, the source of this member too. Items for this member are dropped. */
    DISCARD
  }

  private final int windowItems;
  private final int windowBytes;
  private final OnCancel onCancel;

  private StreamOptions(Builder b) {
    windowItems = b.windowItems;
    windowBytes = b.windowBytes;
    onCancel = b.onCancel;
  }

  /** {@return the defaults} */
  public static StreamOptions defaults() {
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

  /** {@return how many items of each source may be under way to this member, or wait here} */
  public int windowItems() {
    return windowItems;
  }

  /**
   * {@return how many bytes of each source may be under way to this member, or wait here} An item
   * has at most half of it.
   */
  public int windowBytes() {
    return windowBytes;
  }

  /** {@return what becomes of a shuffle or a gather when this member's subscriber cancels} */
  public OnCancel onCancel() {
    return onCancel;
  }

  @Override
  public String toString() {
    return "StreamOptions[windowItems="
        + windowItems
        + ", windowBytes="
        + windowBytes
        + ", onCancel="
        + onCancel
        + ']';
  }

  /** Builds {@link StreamOptions}. Not thread-safe. */
  public static final class Builder {
    private int windowItems = DEFAULT_WINDOW_ITEMS;
    private int windowBytes = DEFAULT_WINDOW_BYTES;
    private OnCancel onCancel = OnCancel.FAIL;

    private Builder() {}

    private Builder(StreamOptions o) {
      windowItems = o.windowItems;
      windowBytes = o.windowBytes;
      onCancel = o.onCancel;
    }

    /**
     * Sets how many items of each source may be under way to this member, or wait here.
     *
     * @param value 1 to {@value #MAX_WINDOW_ITEMS}
     * @return this
     */
    public Builder windowItems(int value) {
      windowItems = checked("windowItems", value, 1, MAX_WINDOW_ITEMS);
      return this;
    }

    /**
     * Sets how many bytes of each source may be under way to this member, or wait here. An item has
     * at most half of it.
     *
     * @param value {@value #MIN_WINDOW_BYTES} to {@value #MAX_WINDOW_BYTES}
     * @return this
     */
    public Builder windowBytes(int value) {
      windowBytes = checked("windowBytes", value, MIN_WINDOW_BYTES, MAX_WINDOW_BYTES);
      return this;
    }

    /**
     * Sets what becomes of a shuffle or a gather when this member's subscriber cancels.
     *
     * @param value what
     * @return this
     */
    public Builder onCancel(OnCancel value) {
      onCancel = Objects.requireNonNull(value, "onCancel");
      return this;
    }

    private static int checked(String what, int value, int least, int most) {
      if (value < least || value > most) {
        throw new IllegalArgumentException(
            what + " must be in " + least + ".." + most + ": " + value);
      }
      return value;
    }

    /** {@return the options} */
    public StreamOptions build() {
      return new StreamOptions(this);
    }
  }
}
