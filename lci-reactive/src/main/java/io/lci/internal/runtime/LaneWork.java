/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.Poster;
import io.lci.internal.inbox.InboxLoop;
import io.lci.internal.inbox.Leases;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopWork;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.Outbox;
import io.lci.internal.post.PosterImpl;
import io.lci.nativebridge.Codes;
import java.util.Map;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a loop serves over its lane: what is posted, what comes, and what the program retains of it.
 */
final class LaneWork implements LoopWork {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** How long an enter goes on with calls of groups when nothing moves: a few turns' time. */
  private static final long SPIN_NANOS = 1_000;

  private static final int ALL = Codes.ENTER_POST | Codes.ENTER_PROGRESS | Codes.ENTER_DRAIN;

  private final EventLoop loop;
  private final Lane lane;
  final Outbox outbox;
  final Dispatcher dispatcher;
  final InboxLoop inboxes;
  private final Leases leases;
  private final Poster poster;

  /** Once, not for each pass. */
  private final LongSupplier help;

  /** Operations that had not ended when the loop did. */
  private volatile long givenUp;

  LaneWork(EventLoop loop, Lane lane, OpCheck check) {
    this.loop = loop;
    this.lane = lane;
    this.outbox = new Outbox(loop, lane);
    this.dispatcher = new Dispatcher(loop, lane, outbox);
    this.leases = new Leases(outbox, dispatcher);
    this.inboxes = new InboxLoop(dispatcher, leases);
    this.poster = new PosterImpl(outbox, check);
    this.help = () -> lane.help() ? 1 : 0;
  }

  @Override
  public int resubmit() {
    return outbox.resubmit();
  }

  @Override
  public boolean hasBatch() {
    return outbox.hasBatch();
  }

  @Override
  public boolean hasCallsAlone() {
    return outbox.hasCallsAlone();
  }

  @Override
  public boolean wantsPackets() {
    return outbox.wantsPackets();
  }

  @Override
  public boolean wantsTurn() {
    return outbox.wantsTurn();
  }

  @Override
  public int enter(boolean mayStay) {
    lane.spinNanos(mayStay ? SPIN_NANOS : 0);
    outbox.enter(ALL);
    return lane.moved();
  }

  @Override
  public boolean help() {
    return loop.core().gate.with(help, 0) != 0;
  }

  @Override
  public int dispatch() {
    return dispatcher.dispatch();
  }

  @Override
  public void flush() {
    outbox.flush();
  }

  @Override
  public void drainBegins() {
    outbox.drainBegins();
  }

  @Override
  public boolean hasPostedEnough() {
    return outbox.hasPostedEnough();
  }

  @Override
  public boolean isInBatch() {
    return outbox.isInBatch();
  }

  @Override
  public Poster poster() {
    return poster;
  }

  @Override
  public void reportStalls(long now, long limitNanos) {
    outbox.reportStalls(now, limitNanos);
  }

  @Override
  public void count(Map<String, Long> into) {
    into.merge("loop_posts", outbox.posts, Long::sum);
    into.merge("loop_refusals", outbox.refusals(), Long::sum);
    into.merge("loop_resubmitted", outbox.resubmitted(), Long::sum);
    into.merge("loop_parked", (long) outbox.parkedCount(), Long::sum);
    into.merge("loop_in_slots", (long) outbox.slots.size(), Long::sum);
    into.merge("loop_records", dispatcher.records, Long::sum);
    into.merge("loop_messages", dispatcher.messages, Long::sum);
    into.merge("loop_late_data", dispatcher.lateData + outbox.lateData, Long::sum);
    into.merge("loop_leased", leases.count().longValue(), Long::sum);
    into.merge("loop_leased_without_copy", leases.withoutCopy, Long::sum);
    outbox.retries().count(into);
    into.merge("loop_given_up", givenUp, Long::sum);
    into.merge("loop_late_wakes", loop.isDisposed() ? 0L : lane.lateWakes(), Long::sum);
  }

  @Override
  public boolean isQuiet() {
    return outbox.isQuiet();
  }

  @Override
  public void leave() {
    lane.leave();
  }

  @Override
  public void abandon() {
    giveUp(outbox.unendedCount());
    RuntimeException reason = loop.closed("runtime closed");
    loop.guarded(outbox::flush);
    loop.guarded(() -> outbox.failParked(loop.core().ending.code()));
    loop.guarded(
        () -> outbox.slots.abandon(-1, owner -> loop.closed("operation outstanding at close")));
    loop.guarded(() -> dispatcher.closeInboxes(reason));
  }

  private void giveUp(int count) {
    givenUp = count;
    if (count > 0) {
      LOG.warn("{}: the close gave up {} operations; peers see this rank fail", loop, count);
    }
  }

  @Override
  public void moveOut() {
    leases.moveOut();
  }

  @Override
  public void free() {
    loop.core().gate.alone(lane::free);
  }
}
