/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Where the packets of every rank lie: each arena is mapped once, when it is first looked at. */
public final class PeerArenas {
  private final NativeCalls calls;
  private final long runtime;
  private final AtomicReferenceArray<NativeMemory> arenas;

  PeerArenas(NativeCalls calls, long runtime, int ranks) {
    this.calls = calls;
    this.runtime = runtime;
    this.arenas = new AtomicReferenceArray<>(ranks);
  }

  /** On a loop, while its lane lives. */
  public NativeMemory of(int rank) {
    NativeMemory known = arenas.get(rank);
    if (known == null) {
      NativeScratch out = new NativeScratch(2);
      Errors.check(
          calls,
          calls.runtimePeerArena(runtime, rank, out.address(0), out.address(1)),
          "map arena of rank " + rank,
          rank);
      known = NativeMemory.wrap(out.getLong(0), out.getLong(1));
      arenas.set(rank, known); // another loop may do the same: it gets the same memory
    }
    return known;
  }
}
