/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

/**
 * What a frame of the peer does to an exchange: four states by five events, and no other. Here
 * "local" is the direction in which this rank sends. The page docs/guide/streams.md shows the same
 * table.
 */
final class StateTable {
  /** Which directions are open. */
  enum State {
    OPEN,
    /** This rank sends no more: it has completed, or the peer cancelled. */
    HALF_CLOSED_LOCAL,
    /** The peer sends no more: it has completed, or this rank cancelled. */
    HALF_CLOSED_REMOTE,
    CLOSED
  }

  /** What comes. */
  enum Event {
    NEXT,
    COMPLETE,
    ERROR,
    CANCEL,
    PEER_DEATH
  }

  /** What is done. */
  enum Verdict {
    /** It takes effect. */
    TAKE,
    /** It was under way when this rank ended what it is about. */
    IGNORE,
    /** The peer cannot mean it: the exchange ends with ProtocolException. */
    VIOLATION
  }

  /**
   * A cell.
   *
   * @param verdict what is done
   * @param next the state after it
   */
  record Cell(Verdict verdict, State next) {}

  private static final Cell[][] CELLS = {
    // NEXT, COMPLETE, ERROR, CANCEL, PEER_DEATH
    { // OPEN
      take(State.OPEN),
      take(State.HALF_CLOSED_REMOTE),
      take(State.CLOSED),
      take(State.HALF_CLOSED_LOCAL),
      take(State.CLOSED)
    },
    { // HALF_CLOSED_LOCAL
      take(State.HALF_CLOSED_LOCAL),
      take(State.CLOSED),
      take(State.CLOSED),
      ignore(State.HALF_CLOSED_LOCAL),
      take(State.CLOSED)
    },
    { // HALF_CLOSED_REMOTE
      violation(), violation(), violation(), take(State.CLOSED), take(State.CLOSED)
    },
    { // CLOSED
      ignore(State.CLOSED),
      ignore(State.CLOSED),
      ignore(State.CLOSED),
      ignore(State.CLOSED),
      ignore(State.CLOSED)
    }
  };

  private StateTable() {}

  static Cell cell(State state, Event event) {
    return CELLS[state.ordinal()][event.ordinal()];
  }

  private static Cell take(State next) {
    return new Cell(Verdict.TAKE, next);
  }

  private static Cell ignore(State next) {
    return new Cell(Verdict.IGNORE, next);
  }

  private static Cell violation() {
    return new Cell(Verdict.VIOLATION, State.CLOSED);
  }
}
