/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.error.LciException;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * The options of an operation, of one kind or of all. An operation never changes its own: an option
 * changes a copy, and a new operation gets it.
 */
final class OpOptions {
  static final OpOptions DEFAULTS = new OpOptions();

  /** For kinds that never answer done. */
  static final OpOptions ALWAYS_SIGNALS = alwaysSignals();

  int userContext;

  /** One of those that {@code completeTo} takes. */
  @Nullable Object target;

  @Nullable Consumer<? super PostOutcome> onOutcome;
  @Nullable Consumer<? super LciException> onError;
  @Nullable Duration deadline;
  @Nullable Scheduler signalOn;
  int device;
  boolean retryAllowed = true;
  boolean doneAllowed = true;
  Op.Semantic semantic = Op.Semantic.MEMORY;
  Op.Policy policy = Op.Policy.RANK_TAG;
  boolean perRun;

  private OpOptions() {}

  private static OpOptions alwaysSignals() {
    OpOptions options = new OpOptions();
    options.doneAllowed = false;
    return options;
  }

  OpOptions userContext(int value) {
    OpOptions changed = copy();
    changed.userContext = value;
    return changed;
  }

  OpOptions completeTo(Object value) {
    OpOptions changed = copy();
    changed.target = Objects.requireNonNull(value, "completeTo");
    changed.doneAllowed = false;
    return changed;
  }

  OpOptions onOutcome(Consumer<? super PostOutcome> consumer) {
    OpOptions changed = copy();
    changed.onOutcome = Objects.requireNonNull(consumer, "onOutcome");
    return changed;
  }

  OpOptions onError(Consumer<? super LciException> consumer) {
    OpOptions changed = copy();
    changed.onError = Objects.requireNonNull(consumer, "onError");
    return changed;
  }

  OpOptions deadline(Duration limit) {
    Objects.requireNonNull(limit, "limit");
    if (limit.isNegative() || limit.isZero()) {
      throw new IllegalArgumentException("deadline must be positive: " + limit);
    }
    OpOptions changed = copy();
    changed.deadline = limit;
    return changed;
  }

  OpOptions signalOn(Scheduler where) {
    OpOptions changed = copy();
    changed.signalOn = Objects.requireNonNull(where, "signalOn");
    return changed;
  }

  OpOptions perRun(long tag) {
    if (tag < 0 || tag > Op.MAX_PER_RUN_TAG) {
      throw new IllegalArgumentException(
          "the tag of an operation per run is 0 to " + Op.MAX_PER_RUN_TAG + ": " + tag);
    }
    OpOptions changed = copy();
    changed.perRun = true;
    return changed;
  }

  OpOptions copy() {
    OpOptions copy = new OpOptions();
    copy.userContext = userContext;
    copy.target = target;
    copy.onOutcome = onOutcome;
    copy.onError = onError;
    copy.deadline = deadline;
    copy.signalOn = signalOn;
    copy.device = device;
    copy.retryAllowed = retryAllowed;
    copy.doneAllowed = doneAllowed;
    copy.semantic = semantic;
    copy.policy = policy;
    copy.perRun = perRun;
    return copy;
  }
}
