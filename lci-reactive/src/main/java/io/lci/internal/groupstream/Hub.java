/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.EventLoop;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The streams of a loop, by context and number: which one a frame is for. Loop only. */
final class Hub {
  /** Most bytes of a frame; smaller packets make smaller frames. */
  private static final int MOST_FRAME = 1 << 16;

  /** Most contexts that went, and are remembered. */
  private static final int MOST_GONE = 1_024;

  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  final EventLoop loop;
  private final CoreRuntime core;
  private final IntFunction<@Nullable PeerEvent> lost;
  private final Map<Long, Numbered> contexts = new HashMap<>();
  private final EarlyFrames early;
  private final StallWatch watch;

  /** The last contexts that went: some frames of them may still be under way. */
  private final Set<Long> gone = new LinkedHashSet<>();

  /** Streams under way. */
  private int live;

  /** The streams of a context. */
  private static final class Numbered {
    /** The number of the next one that begins here. */
    private long next;

    private final Map<Long, GroupStream<?, ?>> live = new HashMap<>();

    /** Why it has no streams any more. */
    private @Nullable StreamCause revoked;
  }

  /**
   * @param lost how a rank went, of which nothing comes any more; else null
   */
  Hub(EventLoop loop, IntFunction<@Nullable PeerEvent> lost) {
    this.loop = loop;
    this.core = loop.core();
    this.lost = lost;
    this.early = new EarlyFrames(core.size);
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

  /** Those of a context that is there. */
  private Numbered of(StreamMembers members) {
    return contexts.computeIfAbsent(members.id(), id -> new Numbered());
  }

  /** A frame makes no sense, and there is no stream that could end by it. */
  private void refused(InFrame frame, RuntimeException reason) {
    LOG.warn("rank {}: rank {} sent what makes no sense", core.rank, frame.rank(), reason);
  }

  /** A stream begins; returns its number. */
  long open(StreamMembers members, GroupStream<?, ?> stream) {
    Numbered of = of(members);
    long number = of.next++;
    of.live.put(number, stream);
    live++;
    watch.start();
    return number;
  }

  /** Tells a stream that has begun what came before it. */
  void tellEarlier(StreamMembers members, long number, GroupStream<?, ?> stream) {
    StreamCause revoked = of(members).revoked;
    if (revoked != null) {
      stream.revoked(revoked);
    }
    early.take(members.id(), number).forEach(stream::frame);
    for (int rank = 0; rank < core.size; rank++) {
      PeerEvent event = lost.apply(rank);
      if (event != null) {
        stream.gone(event);
      }
    }
  }

  void close(long context, long number) {
    Numbered of = contexts.get(context);
    if (of != null && of.live.remove(number) != null && --live == 0) {
      watch.stop();
    }
  }

  /** The context is gone. */
  void forget(long context) {
    contexts.remove(context);
    early.forget(context);
    gone.add(context);
    if (gone.size() > MOST_GONE) {
      Iterator<Long> oldest = gone.iterator();
      oldest.next();
      oldest.remove();
    }
  }

  /** The context was given up: each member hears of that. */
  void revoked(StreamMembers members, StreamCause cause) {
    if (!gone.contains(members.id())) {
      revoked(of(members), cause);
    }
  }

  private static void revoked(Numbered of, StreamCause cause) {
    if (of.revoked == null) {
      of.revoked = cause;
      List.copyOf(of.live.values()).forEach(stream -> stream.revoked(cause));
    }
  }

  /** Frames of streams that are over here say nothing. */
  void take(InFrame frame) {
    try {
      route(frame);
    } catch (RuntimeException e) {
      refused(frame, e);
    }
  }

  private void route(InFrame frame) {
    long number = frame.number();
    if (number < 0) {
      throw new IllegalStateException(frame.type() + " of stream " + number);
    }
    Numbered of = contexts.get(frame.context());
    GroupStream<?, ?> stream = of == null ? null : of.live.get(number);
    if (stream != null) {
      stream.frame(frame);
    } else if (of == null ? !gone.contains(frame.context()) : number >= of.next) {
      early.add(frame);
    }
  }

  /** Frames that wait for streams to begin. */
  int waiting() {
    return early.size();
  }

  void lose(PeerEvent event) {
    for (Numbered of : List.copyOf(contexts.values())) {
      List.copyOf(of.live.values()).forEach(stream -> stream.gone(event));
    }
  }
}
