/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Port;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.MessageSink;
import io.lci.internal.lane.RecordView;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.SoleSubscriber;
import io.lci.nativebridge.NativeMemory;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages of an inbox, and the tap that takes them. Demand goes to the lane's demand table;
 * messages that were already under way when a subscriber cancelled are copied and kept for the next
 * one, at most a completion ring full. Loop only, where nothing else is said.
 */
public final class Delivery implements MessageSink {
  /** Cumulative demand that is never reached. */
  private static final long UNBOUNDED = Long.MAX_VALUE >>> 1;

  private final InboxLoop home;
  private final EventLoop loop;
  private final Lane lane;
  private final Port port;
  private final int maxRetained;
  private final InboxLife life;

  /** The live subscription, from the moment when it came. Any thread. */
  final SoleSubscriber<InboxTap<?>> tap = new SoleSubscriber<>();

  /** Place in the lane's demand table, never the same again after -1. Written by the loop. */
  private volatile int index = -1;

  /** Size of {@link #kept} and {@link #ends}. Written by the loop. */
  private volatile int keptCount;

  private @Nullable NativeMemory store;

  /** The tap that takes messages: the live one when the loop has heard of it. */
  private @Nullable InboxTap<?> active;

  private final ArrayDeque<Message> kept = new ArrayDeque<>();

  /** Messages of operations that have ended, each in one of the {@link #places}. */
  private final ArrayDeque<Message> ends = new ArrayDeque<>();

  final Places places;
  private long dispatched;
  private int retained;

  /** Messages stay in their packets. */
  private boolean inPlace;

  Delivery(InboxLoop home, Port port, InboxOptions options, InboxLife life) {
    this.home = home;
    this.loop = home.loop;
    this.lane = home.lane;
    this.port = port;
    this.maxRetained = options.maxRetained();
    this.places = new Places(options.messages());
    this.life = life;
  }

  InboxLoop home() {
    return home;
  }

  EventLoop loop() {
    return loop;
  }

  Port port() {
    return port;
  }

  // Begin and end

  /** The port is open, at a place of the lane's demand table. */
  void begin(int place, @Nullable NativeMemory memory) {
    store = memory;
    dispatched = lane.delivered(place);
    lane.requested(place, dispatched);
    home.dispatcher.attach(place, this);
    index = place;
    InboxTap<?> waiting = active;
    if (waiting != null) {
      waiting.schedule();
    }
  }

  /** Takes no more messages; returns the place that it had, or -1. */
  int end() {
    int place = index;
    if (place >= 0) {
      index = -1; // before the place in the table may go to another inbox, see depth()
      home.dispatcher.detach(place);
    }
    return place;
  }

  /** Forgets what was kept, and the tap, which is returned. */
  @Nullable InboxTap<?> release() {
    kept.clear();
    ends.clear();
    keptCount = 0;
    places.wake();
    InboxTap<?> last = active;
    active = null;
    return last;
  }

  /** The dispatcher closes all inboxes of a loop that ends. */
  @Override
  public void close(@Nullable RuntimeException reason) {
    life.close(reason);
  }

  // State, any thread

  /**
   * What the core stores, and what was kept here. Read in the lane's memory, which stays mapped; if
   * the inbox was closed meanwhile the place may be another's, and what was read does not count.
   */
  int depth() {
    int place = index;
    int stored = place < 0 ? 0 : lane.depth(place);
    return keptCount + (place == index ? stored : 0);
  }

  /** How many messages are retained, as the loop knows it now. */
  int retained() {
    return retained;
  }

  // Demand

  /** A tap has demand or was cancelled: publishes what it can take. */
  void serve(InboxTap<?> candidate) {
    if (life.isOver()) { // while this one was on its way here
      candidate.settle(); // what it has taken goes out before its end
      life.tell(candidate);
      return;
    }
    InboxTap<?> before = active;
    if (before != candidate && before != null && !before.isOver()) {
      return; // the cancel of the one before is still on its way here, and serves again
    }
    active = candidate;
    while (candidate.allowance() > 0 && !candidate.isOver()) {
      Message message = nextKept();
      if (message == null) {
        break;
      }
      candidate.message(message);
    }
    candidate.settle();
    publishDemand();
  }

  private @Nullable Message nextKept() {
    Message message = kept.poll();
    if (message == null) {
      message = ends.poll();
      if (message != null) {
        places.giveBack();
      }
    }
    countKept();
    return message;
  }

  private void countKept() {
    keptCount = kept.size() + ends.size();
  }

  private void publishDemand() {
    if (index < 0) {
      return;
    }
    InboxTap<?> current = active;
    long demand = current == null || current.isOver() ? 0 : current.allowance();
    long requested = demand >= UNBOUNDED - dispatched ? UNBOUNDED : dispatched + demand;
    lane.requested(index, Math.max(requested, lane.delivered(index)));
    leaveInPlace(current != null && !current.isOver() && current.keepsMessages());
    loop.enterSoon();
  }

  private void leaveInPlace(boolean on) {
    if (on != inPlace) {
      inPlace = on;
      Errors.check(
          lane.calls,
          lane.calls.laneZeroCopy(lane.handle, index, on ? 1 : 0),
          "zero copy at port " + port,
          loop.firstDevice());
    }
  }

  /** Messages that were taken and not handed on are for the next subscriber, before all others. */
  void keepAgain(List<Message> messages) {
    for (int i = messages.size() - 1; i >= 0; i--) {
      kept.addFirst(messages.get(i));
    }
    countKept();
    wakeTap(); // the next tap may have come before the cancel did
  }

  private void wakeTap() {
    InboxTap<?> current = active;
    if (current != null && !current.isOver()) {
      current.schedule();
    }
  }

  /** {@code leaving} was cancelled, or is about to fail. */
  void left(InboxTap<?> leaving) {
    tap.leave(leaving);
    pause(leaving);
  }

  /** Cancel is pause. */
  void pause(InboxTap<?> leaving) {
    if (active == leaving) {
      active = null;
      publishDemand();
    }
  }

  /** The end of an operation that has a place here. */
  void ended(Message message) {
    if (life.isOver()) {
      return;
    }
    ends.add(message);
    countKept();
    wakeTap();
  }

  // Messages

  /** One MESSAGE record. */
  @Override
  public void message(RecordView view) {
    dispatched++;
    InboxTap<?> current = active;
    if (current == null || current.isOver() || current.allowance() == 0) {
      kept.add(view.copy());
      countKept();
    } else {
      current.message(view);
    }
  }

  /** The next message of those being dispatched, for the tap that was given the one before. */
  @Nullable RecordView next(InboxTap<?> taking) {
    if (active != taking || taking.isOver() || taking.allowance() == 0) {
      return null;
    }
    RecordView view = home.dispatcher.next(this);
    if (view != null) {
      dispatched++;
    }
    return view;
  }

  @Override
  public @Nullable NativeMemory store() {
    return store;
  }

  /** Messages of peers that are gone, which wait for room here: not in the depth. */
  int leftBehind() {
    return index < 0 ? 0 : lane.leftBehind(index);
  }

  // Retained messages

  int retainedLeft() {
    return Math.max(0, maxRetained - retained);
  }

  /** One more message is retained. */
  public void retain() {
    retained++;
  }

  /** A retained message came home: there may be room for the next. */
  void released() {
    retained--;
    wakeTap();
  }
}
