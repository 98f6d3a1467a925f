/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciSnapshot;
import io.lci.PostOutcome;
import io.lci.am.Port;
import io.lci.internal.core.Errors;
import org.jspecify.annotations.Nullable;

/**
 * The unit of flow control, for each device: (rank, port) for active messages, (rank, engine) for
 * sends, one for receives, one for barriers, and for each context of a group. Holds the operations
 * that were refused, first in first out. Loop only.
 */
public final class Destination {
  /** What the refused operations wait for. */
  enum Wait {
    NOTHING,
    /** A WRITABLE record: nocredit, backlog. Operations without a flow: see COMPLETION. */
    GRANT,
    /** The device's generation word: nomem, nopacket. */
    DEVICE,
    /** A packet in the loop's cache: the native side was not asked. */
    PACKET,
    /** A slot of the loop: the native side was not asked. */
    SLOT,
    /** The next turn: lock. */
    TURN,
    /**
     * A completion of this loop, or the device's generation word (room for a reply, or for puts and
     * gets): pending; nocredit of what has no flow.
     */
    COMPLETION
  }

  /** Kind of operation, part of the key. */
  static final int AM = 0;

  static final int SEND = 1;
  static final int RECEIVE = 2;

  /** Puts and gets without signal. */
  static final int REMOTE = 3;

  /** Replies to a port: they need no credit, so they do not wait behind what does. */
  static final int REPLY = 4;

  static final int BARRIER = 5;
  static final int CANCEL = 6;

  /** Starts of graphs, and answers of their host nodes. */
  public static final int GRAPH = 7;

  /** Messages that were kept, and are given back. */
  public static final int RELEASE = 8;

  /** Calls of a context of a group. */
  static final int COLLECTIVE = 9;

  final int kind;

  /** Index among the devices of the lane. */
  public final int device;

  public final int rank;
  public final int port;

  /** What this rank calls the port; null where there is none. For those who read. */
  @Nullable Port named;

  /** First and last waiting node in {@link ParkedTable}, and how many there are. */
  int head = ParkedTable.NONE;

  int tail = ParkedTable.NONE;
  int count;

  /** Whose all waiting nodes are; null if there are none, or others came between. */
  @Nullable Submitter soleOwner;

  Wait wait = Wait.NOTHING;
  int reason;

  /** How many may be resubmitted while {@link #wait} is GRANT. */
  long granted;

  /**
   * How many to try when no grant tells: doubled while all are accepted, so that a probe finds the
   * end soon.
   */
  int probe = 1;

  /** Whether it is in the queue of those that may resubmit. */
  boolean ready;

  /**
   * Last node of the current batch that was refused again; accepted ones after it are unlinked
   * behind it.
   */
  int lastKept = ParkedTable.NONE;

  /**
   * How many to try when room came back without a number: as many again as found room the last
   * time.
   */
  int quantum = Outbox.QUANTUM;

  /** Has an element in the current batch. */
  boolean inBatch;

  /** Accepted in the current batch. */
  int accepted;

  /** Refused in the current batch. */
  boolean refused;

  /**
   * One that was refused in the current batch and still waits has said what for. Else that was one
   * which is gone, or another destination with the same order in the core, and nobody will tell.
   */
  boolean reasoned;

  /** When it last accepted something while operations waited, for the stall warning. */
  long progressNanos;

  boolean warned;

  Destination(int kind, int device, int rank, int port) {
    this.kind = kind;
    this.device = device;
    this.rank = rank;
    this.port = port;
  }

  static long key(int kind, int device, int rank, int port) {
    return ((long) kind << 56)
        | ((long) device << 48)
        | ((rank & 0xFFFF_FFFFL) << 16)
        | (port & 0xFFFFL);
  }

  /** Whether it is bound to one peer: not a barrier, a cancel, or a receive from any source. */
  boolean hasPeer() {
    return kind < BARRIER && rank >= 0;
  }

  /** Whether its operations send, or move bytes of another rank. */
  boolean sends() {
    return kind < BARRIER && kind != RECEIVE;
  }

  /** Any thread; the loop goes on meanwhile. */
  LciSnapshot.WaitingState state(int device) {
    PostOutcome last = Errors.outcome(reason);
    Port known = named;
    return new LciSnapshot.WaitingState(
        device,
        toString(),
        hasPeer() ? rank : -1,
        kind != AM ? "" : known == null ? Integer.toString(port) : known.toString(),
        last.isRetry() ? last : PostOutcome.RETRY_ORDER, // no reason of its own yet
        count,
        warned);
  }

  /** The operation, the peer, and the port or engine, for those who read. */
  @Override
  public String toString() {
    if (kind >= BARRIER) {
      return operation();
    }
    String peer = operation() + " rank " + (hasPeer() ? rank : "any");
    return switch (kind) {
      case AM, REPLY -> peer + " port " + (named == null ? port : named);
      case REMOTE -> peer;
      default -> peer + " engine " + port;
    };
  }

  String operation() {
    return switch (kind) {
      case AM -> "am";
      case REPLY -> "reply";
      case SEND -> "send";
      case RECEIVE -> "receive";
      case REMOTE -> "remote memory";
      case BARRIER -> "barrier";
      case GRAPH -> "graph";
      case RELEASE -> "release";
      case COLLECTIVE -> "call of a group";
      default -> "cancel";
    };
  }
}
