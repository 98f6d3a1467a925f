/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.RecordView;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * A lent message. Released by any thread, it goes home through the loop's queue, which wakes the
 * loop. [V14]
 *
 * <p>The memory may be another's from the moment of the release, or of the end of the loop, on: so
 * each read looks afterwards whether the view that it used is still the message's. If not, what it
 * read is thrown away.
 *
 * <p>That needs memory that stays mapped, as copies and packets do. A long message lies in memory
 * of its own, which is unmapped when it is given back: who reads it is counted, and it is given
 * back when the last one has left.
 */
public final class Lease implements RetainedMessage, LoopTask {
  private static final AtomicIntegerFieldUpdater<Lease> READERS =
      AtomicIntegerFieldUpdater.newUpdater(Lease.class, "readers");

  /** Added to the readers once {@link #own} takes none any more: its memory goes home... */
  private static final int RELEASED = Integer.MIN_VALUE;

  /** ... or with the loop, which waits for the last of them. */
  private static final int MOVED = Integer.MIN_VALUE | 1 << 30;

  private static final int COUNT = (1 << 30) - 1;

  /** In the place of a message that could not be moved out. */
  private static final RecordView LOST = new RecordView();

  private final Delivery delivery;
  private final int rank;
  private final long tag;
  private final int size;

  /** Null when it was released. */
  private final AtomicReference<@Nullable RecordView> view;

  /** By which the core knows it; 0: a copy. */
  private final long number;

  /** The copy. */
  private final @Nullable PooledBuffer memory;

  /** The view whose readers are counted; null if its memory stays mapped. */
  private final @Nullable RecordView own;

  private volatile int readers;

  private Lease(
      Delivery delivery,
      RecordView view,
      long number,
      @Nullable PooledBuffer memory,
      boolean staysMapped) {
    this.delivery = delivery;
    this.rank = view.rank();
    this.tag = view.tag();
    this.size = view.size();
    this.view = new AtomicReference<>(view);
    this.number = number;
    this.memory = memory;
    this.own = staysMapped ? null : view;
  }

  /** Copies the message. Loop only. */
  static Lease copied(Delivery delivery, PooledBuffer memory, MessageView message) {
    message.copyTo(memory.memory.slice(0, memory.memory.capacity()));
    RecordView view = new RecordView();
    view.moveTo(memory.memory, 0, message.size(), message.rank(), message.tag());
    return new Lease(delivery, view, 0, memory, true);
  }

  /**
   * The core keeps the message where it is. Loop only.
   *
   * @param staysMapped whether its memory can be read, whatever is there, once it was given back
   */
  public static Lease inPlace(
      Delivery delivery, RecordView message, long number, boolean staysMapped) {
    return new Lease(delivery, message.another(), number, null, staysMapped);
  }

  long number() {
    return number;
  }

  @Override
  public void release() {
    RecordView last = view.getAndSet(null);
    if (last == null) {
      return;
    }
    delivery.home().leases.count().decrementAndGet();
    if (last != own || READERS.addAndGet(this, RELEASED) == RELEASED) {
      goHome();
    }
  }

  private void goHome() {
    EventLoop loop = delivery.loop();
    if (loop.inLoop()) {
      run();
    } else {
      loop.execute(this);
    }
  }

  /** Home again. Loop only. */
  @Override
  public void run() {
    Leases leases = delivery.home().leases;
    if (number == 0) {
      leases.giveBack(memory);
    } else {
      leases.giveBack(this);
    }
    delivery.released();
  }

  /**
   * From now on it is a copy, and nobody reads where it was. Loop only.
   *
   * @throws OutOfMemoryError if there is no room for one: then it cannot be read at all
   */
  public void moveOut(IntFunction<ByteBuffer> room) {
    RecordView before = view.get();
    RecordView after = LOST;
    try {
      if (before != null) {
        after = copy(before, room);
      }
    } finally {
      if (before != null && view.compareAndSet(before, after) && before == own) {
        READERS.addAndGet(this, MOVED);
      }
      while (isRead()) { // by each once at most, as new ones find the copy
        Thread.yield();
      }
    }
  }

  /** Whether one may be in the memory that goes, or come: a release may be about to shut it. */
  private boolean isRead() {
    int now = readers;
    return own != null && (now >= 0 || (now & COUNT) != 0);
  }

  private RecordView copy(RecordView from, IntFunction<ByteBuffer> room) {
    ByteBuffer copy = room.apply(size).order(ByteOrder.LITTLE_ENDIAN);
    from.copyTo(copy);
    RecordView to = new RecordView();
    to.moveTo(copy, 0, size, rank, tag);
    return to;
  }

  @Override
  public boolean isReleased() {
    return view.get() == null;
  }

  private RecordView alive() {
    RecordView current = view.get();
    if (current == null) {
      throw new IllegalStateException("this message was released");
    }
    if (current == LOST) {
      throw new IllegalStateException(
          "this message could not be copied when the runtime closed: too little memory");
    }
    return current;
  }

  /** What to read through until {@link #leave}. */
  public RecordView enter() {
    while (true) {
      RecordView current = alive();
      if (current != own) {
        return current;
      }
      int now = readers;
      if (now >= 0 && READERS.compareAndSet(this, now, now + 1)) {
        return current;
      }
    }
  }

  public void leave(RecordView used) {
    if (used == own && READERS.decrementAndGet(this) == RELEASED) {
      goHome();
    }
  }

  /** Whether what was read through it before is the message. */
  private boolean isStill(RecordView used) {
    VarHandle.loadLoadFence();
    return view.get() == used;
  }

  @Override
  public int rank() {
    alive();
    return rank;
  }

  @Override
  public long tag() {
    alive();
    return tag;
  }

  @Override
  public int size() {
    alive();
    return size;
  }

  @Override
  public byte getByte(int index) {
    while (true) {
      RecordView from = enter();
      byte value;
      try {
        value = from.getByte(index);
      } finally {
        leave(from);
      }
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public short getShort(int index) {
    while (true) {
      RecordView from = enter();
      short value;
      try {
        value = from.getShort(index);
      } finally {
        leave(from);
      }
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public int getInt(int index) {
    while (true) {
      RecordView from = enter();
      int value;
      try {
        value = from.getInt(index);
      } finally {
        leave(from);
      }
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public long getLong(int index) {
    while (true) {
      RecordView from = enter();
      long value;
      try {
        value = from.getLong(index);
      } finally {
        leave(from);
      }
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public void getBytes(int index, byte[] target, int offset, int length) {
    RecordView from;
    do {
      from = enter();
      try {
        from.getBytes(index, target, offset, length);
      } finally {
        leave(from);
      }
    } while (!isStill(from));
  }

  @Override
  public void getLongs(int index, long[] target, int offset, int count) {
    RecordView from;
    do {
      from = enter();
      try {
        from.getLongs(index, target, offset, count);
      } finally {
        leave(from);
      }
    } while (!isStill(from));
  }

  @Override
  public void copyTo(ByteBuffer target) {
    int start = target.position();
    RecordView from;
    do {
      from = enter();
      try {
        from.copyTo(target.position(start));
      } finally {
        leave(from);
      }
    } while (!isStill(from));
  }
}
