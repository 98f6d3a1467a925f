/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciRuntime;
import io.lci.am.MessageView;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.RecordView;
import io.lci.internal.post.Destination;
import io.lci.internal.post.Notice;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Messages that a loop's inboxes have lent. What lies in its sender's packet, or in memory of its
 * own, stays there and is given back by a RELEASE descriptor; what the core had to store is copied
 * into pooled memory. [V14]
 */
public final class Leases extends Notice {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final Dispatcher dispatcher;
  private final AtomicInteger count = new AtomicInteger();

  /** For the copies of {@link #moveOut()}; tests have less. */
  public IntFunction<ByteBuffer> room = ByteBuffer::allocate;

  // Loop only
  private final Set<Lease> inPlace = new HashSet<>();
  private final ArrayDeque<Lease> leaving = new ArrayDeque<>();

  /** How many were lent without a copy. */
  public long withoutCopy;

  public Leases(Outbox outbox, Dispatcher dispatcher) {
    super(outbox);
    this.dispatcher = dispatcher;
  }

  /** How many are not released. Any thread. */
  public AtomicInteger count() {
    return count;
  }

  /**
   * Lends the message that is being dispatched.
   *
   * @throws PooledBuffer.NoMemory if it is to be copied, and there is none
   */
  public Lease lend(Delivery delivery, MessageView message) {
    long number = message instanceof RecordView ? dispatcher.keep() : 0;
    if (number == 0) {
      Lease copy = Lease.copied(delivery, outbox.pool.take(message.size()), message);
      count.incrementAndGet(); // now: there may be no memory
      return copy;
    }
    Lease lease = Lease.inPlace(delivery, (RecordView) message, number, dispatcher.staysMapped());
    count.incrementAndGet();
    inPlace.add(lease);
    withoutCopy++;
    return lease;
  }

  /** The copy of a message comes home. */
  void giveBack(@Nullable PooledBuffer copy) {
    outbox.pool.give(copy);
  }

  /** A lease whose message lies where it came comes home. */
  void giveBack(Lease lease) {
    if (inPlace.remove(lease)) {
      leaving.add(lease);
      loop.markReady(this); // an encoder may have released it
    }
  }

  @Override
  public void drain() {
    for (Lease lease = leaving.poll(); lease != null; lease = leaving.poll()) {
      submit(lease, Destination.RELEASE);
    }
  }

  /**
   * The lane goes, and with it the memory of others: whoever holds a message keeps a copy, if there
   * is room for it. One without must not keep the others where they are.
   */
  public void moveOut() {
    int lost = 0;
    Throwable why = null;
    for (Lease lease : inPlace) {
      try {
        lease.moveOut(room);
      } catch (Throwable e) { // no room, most likely
        lost++;
        why = e;
      }
    }
    inPlace.clear();
    if (lost > 0) {
      LOG.warn(
          "{}: {} messages that were lent could not be copied at the end and are lost",
          loop,
          lost,
          why);
    }
  }

  @Override
  public void encode(Object item, PostWriter out) {
    out.op = Codes.OP_RELEASE;
    out.answer(0, ((Lease) item).number());
  }
}
