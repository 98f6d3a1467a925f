/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.PeerEvent;
import io.lci.am.Inbox;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The peers that are gone. What a peer had sent before its end is handed on first: only then its
 * session is lost. Loop only.
 */
public final class Departures {
  /** A peer that is gone, and how many messages may have come from it that were not looked at. */
  private static final class Departure {
    /** Messages of its wait for room: how many come before them is not known. */
    private static final int LEFT_BEHIND = Integer.MAX_VALUE - 1;

    private static final int UNKNOWN = Integer.MAX_VALUE;

    private final int rank;
    private int left = UNKNOWN;

    Departure(int rank) {
      this.rank = rank;
    }
  }

  private final Home home;
  private final Consumer<PeerEvent> lose;
  private final @Nullable PeerEvent[] gone;
  private final List<Departure> departures = new ArrayList<>();
  private @Nullable Inbox inbox;

  /**
   * @param lose is told when nothing comes any more of a peer that is gone
   */
  public Departures(Home home, int ranks, Consumer<PeerEvent> lose) {
    this.home = home;
    this.lose = lose;
    this.gone = new PeerEvent[ranks];
  }

  /** Frames come from this inbox. */
  public void inbox(Inbox opened) {
    inbox = opened;
  }

  /** How a rank went, if nothing comes from it any more; else null. */
  @Nullable PeerEvent lost(int rank) {
    return departures.stream().noneMatch(d -> d.rank == rank) ? gone[rank] : null;
  }

  /** A peer is gone. */
  public void peerChanged(PeerEvent event) {
    gone[event.rank()] = event;
    Departure departure = new Departure(event.rank());
    departures.add(departure);
    departsSoon(departure);
  }

  /** What came just now is handed on in this turn; what is stored is known in the next. */
  private void departsSoon(Departure departure) {
    departure.left = Departure.UNKNOWN;
    home.execute(() -> departed(departure), () -> {});
  }

  private void departed(Departure departure) {
    Inbox from = inbox;
    departure.left = leftBehind() ? Departure.LEFT_BEHIND : from == null ? 0 : from.depth();
    if (departure.left == 0) {
      departures.remove(departure);
      lose(departure.rank);
    }
  }

  private void lose(int rank) {
    lose.accept(Objects.requireNonNull(gone[rank]));
  }

  private boolean leftBehind() {
    Inbox from = inbox;
    return from != null && home.leftBehind(from) != 0;
  }

  /** At one message more. */
  public void lookedAt() {
    if (departures.isEmpty()) {
      return;
    }
    for (Iterator<Departure> all = departures.iterator(); all.hasNext(); ) {
      Departure departure = all.next();
      if (departure.left == Departure.LEFT_BEHIND) {
        if (!leftBehind()) {
          departsSoon(departure);
        }
      } else if (departure.left != Departure.UNKNOWN && --departure.left == 0) {
        all.remove();
        lose(departure.rank);
      }
    }
  }
}
