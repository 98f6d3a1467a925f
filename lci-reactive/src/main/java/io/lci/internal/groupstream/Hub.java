/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.AmOp;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.am.Payload;
import io.lci.collective.Group;
import io.lci.error.LciException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.loop.EventLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** The streams of a loop, by context and number, and where their frames go. Loop only. */
final class Hub {
  /** Most bytes of a frame; smaller packets make smaller frames. */
  private static final int MOST_FRAME = 1 << 16;

  final EventLoop loop;
  private final CoreRuntime core;
  private final IntFunction<@Nullable PeerEvent> lost;
  private final Map<Long, Numbered> contexts = new HashMap<>();
  private final StallWatch watch;

  /** Streams under way. */
  private int live;

  /** The streams of a context. */
  private static final class Numbered {
    /** The number of the next one that begins here. */
    private long next;

    private final Map<Long, GroupStream<?, ?>> live = new HashMap<>();

    /** Why it has no streams any more. */
    private @Nullable StreamCause revoked;

    /** What others said of streams that have not begun here. */
    private final Map<Long, List<InFrame>> early = new HashMap<>();
  }

  /**
   * @param lost how a rank went, of which nothing comes any more; else null
   */
  Hub(EventLoop loop, IntFunction<@Nullable PeerEvent> lost) {
    this.loop = loop;
    this.core = loop.core();
    this.lost = lost;
    this.watch = new StallWatch(loop, this::lookForStalls);
  }

  private void lookForStalls() {
    for (Numbered of : contexts.values()) {
      for (GroupStream<?, ?> stream : of.live.values()) {
        String why = stream.stall();
        if (why != null) {
          watch.report(core.rank, stream.operation(), why);
        }
      }
    }
  }

  int rank() {
    return core.rank;
  }

  int frameBytes() {
    return Math.min(MOST_FRAME, core.maxEager) - OutFrame.ITEMS_HEAD;
  }

  private Numbered of(long context) {
    return contexts.computeIfAbsent(context, id -> new Numbered());
  }

  /** A stream begins; returns its number. */
  long open(long context, GroupStream<?, ?> stream) {
    Numbered of = of(context);
    long number = of.next++;
    of.live.put(number, stream);
    live++;
    watch.start();
    return number;
  }

  /** Tells a stream that has begun what came before it. */
  void tellEarlier(long context, long number, GroupStream<?, ?> stream) {
    Numbered of = of(context);
    StreamCause revoked = of.revoked;
    if (revoked != null) {
      stream.revoked(revoked);
    }
    List<InFrame> early = of.early.remove(number);
    if (early != null) {
      early.forEach(stream::frame);
    }
    for (int rank = 0; rank < core.size; rank++) {
      PeerEvent event = lost.apply(rank);
      if (event != null) {
        stream.gone(event);
      }
    }
  }

  void close(long context, long number) {
    if (of(context).live.remove(number) != null && --live == 0) {
      watch.stop();
    }
  }

  /** The context is gone. */
  void forget(long context) {
    contexts.remove(context);
  }

  /** The context is given up here: the others are told. */
  void revoke(StreamMembers members) {
    Group group = members.group();
    StreamCause cause = StreamCause.revoked(core.rank, "the member gave the context up");
    byte[] frame = new OutFrame(group.rank(), members.id(), OutFrame.ALL).abort(cause);
    for (int member = 0; member < group.size(); member++) {
      if (member != group.rank()) {
        send(group.worldRank(member), members.device(), frame, left -> {});
      }
    }
    revoked(of(members.id()), cause);
  }

  /** The context was given up: each member hears of that. */
  void revoked(long context, StreamCause cause) {
    revoked(of(context), cause);
  }

  private static void revoked(Numbered of, StreamCause cause) {
    if (of.revoked == null) {
      of.revoked = cause;
      List.copyOf(of.live.values()).forEach(stream -> stream.revoked(cause));
    }
  }

  /** Frames of streams that are over here say nothing. */
  void take(InFrame frame) {
    Numbered of = of(frame.context());
    GroupStream<?, ?> stream = of.live.get(frame.number());
    if (frame.number() == OutFrame.ALL) {
      revoked(of, frame.cause());
    } else if (stream != null) {
      stream.frame(frame);
    } else if (frame.number() >= of.next) {
      of.early.computeIfAbsent(frame.number(), number -> new ArrayList<>()).add(frame);
    }
  }

  void lose(PeerEvent event) {
    for (Numbered of : List.copyOf(contexts.values())) {
      List.copyOf(of.live.values()).forEach(stream -> stream.gone(event));
    }
  }

  /**
   * Sends a frame.
   *
   * @param left called once, on the loop, when it has left, or with what it failed by
   */
  void send(int rank, int device, byte[] frame, Consumer<@Nullable LciException> left) {
    Leaving leaving = new Leaving(left);
    AmOp op =
        Op.am(rank, ReservedPorts.GROUPS, Payload.of(frame))
            .tag(device)
            .advanced(set -> set.device(device))
            .onOutcome(outcome -> leaving.ended(null))
            .onError(leaving::ended);
    try {
      loop.poster().submit(op);
    } catch (LciException e) { // the runtime closes
      leaving.ended(e);
    }
  }

  /** What was accepted may fail later; then the end of its rank tells that. */
  private static final class Leaving {
    private final Consumer<@Nullable LciException> left;
    private boolean over;

    Leaving(Consumer<@Nullable LciException> left) {
      this.left = left;
    }

    void ended(@Nullable LciException problem) {
      if (!over) {
        over = true;
        left.accept(problem);
      }
    }
  }
}
