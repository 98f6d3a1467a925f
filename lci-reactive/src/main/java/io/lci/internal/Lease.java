/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A lent message. Released by any thread, it goes home through the loop's queue, which wakes the
 * loop. [V14]
 *
 * <p>The memory may be another's from the moment of the release, or of the end of the loop, on: so
 * each read looks afterwards whether the view that it used is still the message's. If not, what it
 * read is thrown away.
 */
final class Lease implements RetainedMessage, LoopTask {
  private final InboxImpl inbox;
  private final int rank;
  private final long tag;
  private final int size;

  /** Null when it was released. */
  private final AtomicReference<@Nullable RecordView> view;

  /** By which the core knows it; 0: a copy. */
  private final long number;

  /** The copy. */
  private final @Nullable PooledBuffer memory;

  private Lease(InboxImpl inbox, RecordView view, long number, @Nullable PooledBuffer memory) {
    this.inbox = inbox;
    this.rank = view.rank();
    this.tag = view.tag();
    this.size = view.size();
    this.view = new AtomicReference<>(view);
    this.number = number;
    this.memory = memory;
  }

  /** Copies the message. Loop only. */
  static Lease copied(InboxImpl inbox, PooledBuffer memory, MessageView message) {
    message.copyTo(memory.memory.slice(0, memory.memory.capacity()));
    RecordView view = new RecordView();
    view.moveTo(memory.memory, 0, message.size(), message.rank(), message.tag());
    return new Lease(inbox, view, 0, memory);
  }

  /** The core keeps the message where it is. Loop only. */
  static Lease inPlace(InboxImpl inbox, RecordView message, long number) {
    return new Lease(inbox, message.another(), number, null);
  }

  long number() {
    return number;
  }

  @Override
  public void release() {
    if (view.getAndSet(null) == null) {
      return;
    }
    EventLoop loop = inbox.loop();
    loop.leases().count().decrementAndGet();
    if (loop.inLoop()) {
      run();
    } else {
      loop.execute(this);
    }
  }

  /** Home again. Loop only. */
  @Override
  public void run() {
    EventLoop loop = inbox.loop();
    if (number == 0) {
      loop.outbox().pool.give(memory);
    } else {
      loop.leases().giveBack(this);
    }
    inbox.released();
  }

  /** From now on it is a copy. Loop only. */
  void moveOut() {
    RecordView before = view.get();
    if (before != null) {
      ByteBuffer copy = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
      before.copyTo(copy);
      RecordView after = new RecordView();
      after.moveTo(copy, 0, size, rank, tag);
      view.compareAndSet(before, after);
    }
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
    return current;
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
      RecordView from = alive();
      byte value = from.getByte(index);
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public short getShort(int index) {
    while (true) {
      RecordView from = alive();
      short value = from.getShort(index);
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public int getInt(int index) {
    while (true) {
      RecordView from = alive();
      int value = from.getInt(index);
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public long getLong(int index) {
    while (true) {
      RecordView from = alive();
      long value = from.getLong(index);
      if (isStill(from)) {
        return value;
      }
    }
  }

  @Override
  public void getBytes(int index, byte[] target, int offset, int length) {
    RecordView from;
    do {
      from = alive();
      from.getBytes(index, target, offset, length);
    } while (!isStill(from));
  }

  @Override
  public void getLongs(int index, long[] target, int offset, int count) {
    RecordView from;
    do {
      from = alive();
      from.getLongs(index, target, offset, count);
    } while (!isStill(from));
  }

  @Override
  public void copyTo(ByteBuffer target) {
    int start = target.position();
    RecordView from;
    do {
      from = alive();
      from.copyTo(target.position(start));
    } while (!isStill(from));
  }
}
