/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.PeerEvent;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;

/** The ranks that a call goes on without, since they left or died. Any thread. */
final class Absent {
  private final AtomicReferenceArray<PeerEvent> byRank;

  Absent(int ranks) {
    this.byRank = new AtomicReferenceArray<>(ranks);
  }

  void add(int rank, PeerEvent.State state) {
    byRank.compareAndSet(rank, null, new PeerEvent(rank, state));
  }

  /** Whether an error says that the rank is gone; it is absent then. */
  boolean addIfGone(int rank, Throwable error) {
    if (error instanceof PeerLeftException) {
      add(rank, PeerEvent.State.LEFT);
    } else if (error instanceof PeerFailedException) {
      add(rank, PeerEvent.State.FAILED);
    } else {
      return false;
    }
    return true;
  }

  boolean has(int rank) {
    return byRank.get(rank) != null;
  }

  /** By rank. */
  List<PeerEvent> list() {
    return IntStream.range(0, byRank.length())
        .mapToObj(byRank::get)
        .filter(Objects::nonNull)
        .toList();
  }
}
