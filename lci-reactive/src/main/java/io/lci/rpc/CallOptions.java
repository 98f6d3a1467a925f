/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Options of a call. Immutable.
 *
 * @since 0.1
 */
public final class CallOptions {

  private static final CallOptions DEFAULTS = builder().build();

  private final @Nullable Duration deadline;

  private CallOptions(Builder b) {
    deadline = b.deadline;
  }

  /** {@return the defaults: no deadline} */
  public static CallOptions defaults() {
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

  /** {@return how long the whole call may take, or null for ever} */
  public @Nullable Duration deadline() {
    return deadline;
  }

  @Override
  public String toString() {
    return "CallOptions[deadline=" + deadline + ']';
  }

  /** Builds {@link CallOptions}. Not thread-safe. */
  public static final class Builder {
    private @Nullable Duration deadline;

    private Builder() {}

    private Builder(CallOptions o) {
      deadline = o.deadline;
    }

    /**
     * Sets how long the whole call may take, from its first request on. On expiry the call is
     * cancelled and ends with {@link io.lci.error.DeadlineExceededException}, which says how far it
     * had come; requests that go on after the answers are cancelled, too. Measured by {@link
     * io.lci.LciOptions#timer()}.
     *
     * @param value positive; null: for ever
     * @return this
     */
    public Builder deadline(@Nullable Duration value) {
      if (value != null && (value.isNegative() || value.isZero())) {
        throw new IllegalArgumentException("deadline must be positive: " + value);
      }
      deadline = value;
      return this;
    }

    /** {@return the options} */
    public CallOptions build() {
      return new CallOptions(this);
    }
  }
}
