/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The refusals of a loop's operations, by kind and reason; the core counts them by reason alone.
 * Written by the loop, read by snapshots without order.
 */
public final class RetryCounts {
  private static final Op.Kind[] KINDS = Op.Kind.values();
  private static final int REASONS = Codes.RETRY_ORDER - Codes.RETRY_LOCK + 1;

  /** Names of the counters, by place. */
  private static final String[] NAMES = names();

  private final long[] values = new long[NAMES.length];

  /** An attempt was refused. */
  void refused(Op.@Nullable Kind kind, int code) {
    if (kind != null && code >= Codes.RETRY_LOCK && code <= Codes.RETRY_ORDER) {
      values[kind.ordinal() * REASONS + code - Codes.RETRY_LOCK]++;
    }
  }

  public void count(Map<String, Long> into) {
    for (int i = 0; i < NAMES.length; i++) {
      into.merge(NAMES[i], values[i], Long::sum);
    }
  }

  private static String[] names() {
    String[] names = new String[KINDS.length * REASONS];
    for (int i = 0; i < names.length; i++) {
      String outcome = Errors.outcome(Codes.RETRY_LOCK + i % REASONS).name();
      names[i] = ("loop_" + outcome + '_' + KINDS[i / REASONS]).toLowerCase(Locale.ROOT);
    }
    return names;
  }
}
