/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.PeerEvent;
import io.lci.internal.core.Errors;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a loop: reads completion records and hands each to whom it concerns. Loop
 * only.
 */
public final class Dispatcher {
  /** Appended posts go out at the latest after so many records. */
  private static final int FLUSH_AFTER = 32;

  public final EventLoop loop;
  public final Lane lane;
  private final Submissions submissions;
  private final @Nullable MessageSink[] inboxes;

  /** Attached by any thread, before it tells anybody of one: another loop may signal it at once. */
  private final Map<Integer, StatusSink> synchronizers = new ConcurrentHashMap<>();

  private final Map<Integer, GraphSink> graphs = new HashMap<>();
  private final RecordView view = new RecordView();

  /** By rank, how many devices of the lane have told of its end. */
  private final Map<Integer, Integer> endsTold = new HashMap<>();

  /** The first record that nobody has been given yet, and the end of those there are. */
  private int head;

  private int tail;

  /** How many were given in this drain. */
  private int given;

  /** Where the message that is being dispatched has its record. */
  private int current;

  /** Whether a message that is not in the lane lies in memory that was mapped before. */
  private boolean staysMapped;

  public long records;
  public long messages;
  public long lateData;

  public Dispatcher(EventLoop loop, Lane lane, Submissions submissions) {
    this.loop = loop;
    this.lane = lane;
    this.submissions = submissions;
    this.inboxes = new MessageSink[lane.layout.demandCount()];
  }

  public void attach(int index, MessageSink inbox) {
    inboxes[index] = inbox;
  }

  public void detach(int index) {
    inboxes[index] = null;
  }

  /** Any thread. */
  public void attach(StatusSink synchronizer) {
    synchronizers.put(synchronizer.id(), synchronizer);
  }

  public void detach(StatusSink synchronizer) {
    synchronizers.remove(synchronizer.id(), synchronizer);
  }

  public void attach(int id, GraphSink graph) {
    graphs.put(id, graph);
  }

  public void detach(int id, GraphSink graph) {
    graphs.remove(id, graph);
  }

  /** Closes every inbox of the loop with an error. */
  public void closeInboxes(RuntimeException error) {
    for (MessageSink inbox : inboxes.clone()) {
      if (inbox != null) {
        inbox.close(error);
      }
    }
  }

  /** Reads every record there is; the core may have them back at the next full enter. */
  public int dispatch() {
    head = lane.completionHead();
    tail = lane.completionTail();
    if (head == tail) {
      return 0;
    }
    given = 0;
    while (head != tail) {
      dispatch(lane.record(head));
      flushNowAndThen();
    }
    lane.completionHead(tail);
    records += given;
    return given;
  }

  private void flushNowAndThen() {
    if (++given % FLUSH_AFTER == 0) {
      submissions.flush();
    }
  }

  private void dispatch(int record) {
    ByteBuffer memory = lane.memory;
    int kind = memory.get(record + Layout.RECORD_KIND);
    int flags = memory.get(record + Layout.RECORD_FLAGS);
    int rank = memory.getInt(record + Layout.RECORD_RANK);
    int size = memory.getInt(record + Layout.RECORD_SIZE_FIELD);
    if (kind == Codes.RECORD_MESSAGE) {
      message(record, flags, rank, size);
    } else {
      head += kind == Codes.RECORD_PAD ? size : 1;
      event(record, kind, flags, rank, size);
    }
  }

  private void event(int record, int kind, int flags, int rank, int size) {
    long context = lane.memory.getLong(record + Layout.RECORD_CONTEXT);
    switch (kind) {
      case Codes.RECORD_OP -> operation(record, flags, rank, size, context);
      case Codes.RECORD_PAD -> {}
      case Codes.RECORD_WRITABLE ->
          submissions.writable(isOfEngine(flags), index(record), rank, port(record), context);
      case Codes.RECORD_PEER -> peer(rank, (int) context);
      case Codes.RECORD_PORT -> refused(record, isOfEngine(flags), rank);
      case Codes.RECORD_SYNC -> signal(record, rank, size, context);
      case Codes.RECORD_HOST_NODE -> {
        GraphSink graph = graphs.get((int) context);
        if (graph != null) {
          graph.fire(rank, context);
        }
      }
      case Codes.RECORD_GRAPH -> {
        GraphSink graph = graphs.get((int) context);
        if (graph != null) {
          graph.ended(code(record), rank);
        }
      }
      case Codes.RECORD_COUNTER -> {} // waiters look at every counter after each drain
      default -> throw new IllegalStateException("unknown record kind " + kind);
    }
  }

  private void message(int record, int flags, int rank, int size) {
    MessageSink inbox = inboxes[index(record)];
    look(record, flags, rank, size, inbox);
    if (inbox == null) {
      lateData++;
    } else {
      inbox.message(view);
      view.invalidate();
    }
  }

  /** Moves past the record of a message, and the view to it. */
  private void look(int record, int flags, int rank, int size, @Nullable MessageSink inbox) {
    messages++;
    ByteBuffer memory = lane.memory;
    boolean apart = (flags & Codes.RECORD_FLAG_ADDRESS) != 0;
    head += apart || size <= 32 ? 1 : 1 + (size - 32 + Layout.RECORD_SIZE - 1) / Layout.RECORD_SIZE;
    if (inbox == null) {
      return;
    }
    current = record;
    long tag = memory.getLong(record + Layout.RECORD_TAG);
    if (apart) {
      NativeMemory place =
          (flags & Codes.RECORD_FLAG_LOAN) == 0 ? inbox.store() : loop.core().peerArenas.of(rank);
      moveTo(place, memory.getLong(record + Layout.RECORD_PAYLOAD), size, rank, tag);
    } else {
      view.moveTo(memory, record + Layout.RECORD_PAYLOAD, size, rank, tag);
    }
  }

  /**
   * While a message of an inbox is dispatched: the next one, if it is the inbox's, too. Who takes
   * it so is not given it again.
   */
  public @Nullable RecordView next(MessageSink inbox) {
    if (head == tail) {
      return null;
    }
    int record = lane.record(head);
    ByteBuffer memory = lane.memory;
    if (memory.get(record + Layout.RECORD_KIND) != Codes.RECORD_MESSAGE
        || inboxes[index(record)] != inbox) {
      return null;
    }
    flushNowAndThen();
    int flags = memory.get(record + Layout.RECORD_FLAGS);
    int rank = memory.getInt(record + Layout.RECORD_RANK);
    look(record, flags, rank, memory.getInt(record + Layout.RECORD_SIZE_FIELD), inbox);
    return view;
  }

  /**
   * The message that is being dispatched stays where it is until it is released.
   *
   * @return its number, or 0 if it cannot stay
   */
  public long keep() {
    int flags = lane.memory.get(current + Layout.RECORD_FLAGS);
    if ((flags & Codes.RECORD_FLAG_LOAN) == 0) {
      return 0;
    }
    lane.memory.put(current + Layout.RECORD_FLAGS, (byte) (flags | Codes.RECORD_FLAG_KEPT));
    return lane.memory.getLong(current + Layout.RECORD_CONTEXT);
  }

  /** Of one that can be kept: whether its memory stays mapped when it was released. */
  public boolean staysMapped() {
    return staysMapped;
  }

  /** Most addresses lie in memory that was mapped before. */
  private void moveTo(@Nullable NativeMemory place, long address, int size, int rank, long tag) {
    if (place != null
        && address >= place.address()
        && address + size <= place.address() + place.length()) {
      staysMapped = true;
      long offset = address - place.address();
      view.moveTo(place.window(offset), NativeMemory.indexInWindow(offset), size, rank, tag);
    } else {
      staysMapped = false;
      view.moveTo(NativeMemory.wrap(address, Math.max(1, size)).buffer(), 0, size, rank, tag);
    }
  }

  /** The last device to tell has delivered the last of what the peer had sent. */
  private void peer(int rank, int state) {
    if (state == Codes.PEER_FENCED) {
      loop.host().loopFailed(Errors.fenced("take part"));
      return;
    }
    if (endsTold.merge(rank, 1, Integer::sum) == lane.deviceCount()) {
      loop.host()
          .peerChanged(
              loop,
              new PeerEvent(
                  rank, state == Codes.PEER_LEFT ? PeerEvent.State.LEFT : PeerEvent.State.FAILED));
    }
  }

  private void operation(int record, int flags, int rank, int size, long context) {
    int code = code(record);
    long tag = lane.memory.getLong(record + Layout.RECORD_TAG);
    boolean apart = (flags & Codes.RECORD_FLAG_RECEIVED) != 0;
    long received = apart ? lane.memory.getLong(record + Layout.RECORD_RECEIVED) : 0;
    submissions.ended(context, code, rank, tag, size, received);
  }

  /**
   * A port of a peer closed or opened: what waits for it fails at once instead of at its next
   * attempt.
   */
  private void refused(int record, boolean engine, int rank) {
    int code = code(record);
    if (Codes.isError(code)) {
      submissions.failParked(engine, index(record), rank, port(record), code);
    } else {
      submissions.writable(engine, index(record), rank, port(record), 1);
    }
  }

  private static boolean isOfEngine(int flags) {
    return (flags & Codes.RECORD_FLAG_ENGINE) != 0;
  }

  private void signal(int record, int rank, int size, long context) {
    StatusSink synchronizer = synchronizers.get((int) (context >>> 32));
    if (synchronizer != null) {
      long tag = lane.memory.getLong(record + Layout.RECORD_TAG);
      int left = index(record);
      synchronizer.status(code(record), port(record), rank, tag, size, (int) context, left);
    }
  }

  private int code(int record) {
    return lane.memory.getShort(record + Layout.RECORD_CODE) & 0xFFFF;
  }

  private int index(int record) {
    return lane.memory.getShort(record + Layout.RECORD_INDEX) & 0xFFFF;
  }

  private int port(int record) {
    return lane.memory.getShort(record + Layout.RECORD_PORT) & 0xFFFF;
  }
}
