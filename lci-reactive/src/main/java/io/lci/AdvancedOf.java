/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options for experts that every kind has. They are set while {@code advanced} runs, and refuse
 * everything afterwards, so that an operation stays as it was made.
 *
 * @param <A> the options of the kind
 */
abstract class AdvancedOf<A extends AdvancedOf<A>> {
  /** A copy that no operation has; null when one has it. */
  private @Nullable OpOptions options;

  AdvancedOf(OpOptions of) {
    options = of.copy();
  }

  final OpOptions options() {
    OpOptions changing = options;
    if (changing == null) {
      throw new IllegalStateException("advanced() has returned: the operation stays as it is");
    }
    return changing;
  }

  /** Lets {@code set} change them; nothing changes them afterwards. */
  final OpOptions after(Consumer<? super A> set) {
    Objects.requireNonNull(set, "set").accept(self());
    OpOptions changed = options();
    options = null;
    return changed;
  }

  @SuppressWarnings("unchecked") // A is the type of this, by construction
  final A self() {
    return (A) this;
  }

  final A setDevice(int index) {
    if (index < 0) {
      throw new IllegalArgumentException("device must not be negative: " + index);
    }
    options().device = index;
    return self();
  }

  /**
   * Allows or forbids the answer <em>retry</em>. When it is forbidden, the operation goes into the
   * backlog, and ends with {@link io.lci.error.ResourceExhaustedException} at the backlog's bound.
   * Default allowed.
   *
   * @param allowed whether retry is allowed
   * @return these options
   */
  public final A allowRetry(boolean allowed) {
    options().retryAllowed = allowed;
    return self();
  }
}
