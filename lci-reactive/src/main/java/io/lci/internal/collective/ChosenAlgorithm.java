/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.CallData;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeScratch;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Asks the core which algorithm calls of a context have. Not thread-safe. */
final class ChosenAlgorithm {
  private static final List<Algorithm> ALL = List.of(Algorithm.values());

  /** Where the question begins: behind the answer. */
  private static final int CALL = 1;

  private final CoreRuntime core;
  private final long context;

  /** Kept for the next one: most calls have no list of counts. */
  private @Nullable NativeScratch memory;

  /**
   * @param context of the core, which is there whenever it is asked
   */
  ChosenAlgorithm(CoreRuntime core, long context) {
    this.core = core;
    this.context = context;
  }

  /** The named one; else that of the core, or AUTO if the core is closed. */
  Algorithm of(CallData call) {
    if (call.algorithm() != Algorithm.AUTO) {
      return call.algorithm();
    }
    NativeScratch words = memory(CALL + call.slotsWithoutMemory());
    call.writeWithoutMemory(words, CALL);
    long code =
        core.gate.with(
            () -> core.calls.collectiveChosen(context, words.address(CALL), words.address(0)),
            Codes.RETRY);
    int number = words.getInt(0);
    return code == Codes.DONE && number < ALL.size() ? ALL.get(number) : Algorithm.AUTO;
  }

  private NativeScratch memory(int slots) {
    NativeScratch kept = memory;
    if (kept == null || kept.buffer().capacity() < slots * Long.BYTES) {
      kept = new NativeScratch(slots);
      memory = kept;
    }
    return kept;
  }
}
