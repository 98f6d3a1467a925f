/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.collective.GroupStreams;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What a member sends of a stream: a flow to each receiver, and the window of its source. Loop
 * only.
 */
final class Sending<T> {
  private static final int WINDOW = GroupStreams.SEND_WINDOW;

  private final Shape shape;
  private final ToIntFunction<? super T> owner;
  private final Codec<T> codec;
  private final OutFrame frames;
  private final Wire wire;
  private final int frameBytes;
  private final @Nullable OutFlow<T>[] flows;

  /** Items that were asked for, and have not left. */
  private int occupied;

  /** Items that were asked for. */
  private long asked;

  /** The source has completed. */
  private boolean complete;

  /** A frame that is being filled. */
  private final List<byte[]> batch = new ArrayList<>();

  private int batchBytes;

  /**
   * @param frameBytes most bytes of a frame, but for longer items
   */
  @SuppressWarnings("unchecked") // an array of a class with a parameter
  Sending(
      Shape shape,
      ToIntFunction<? super T> owner,
      Codec<T> codec,
      OutFrame frames,
      Wire wire,
      int frameBytes) {
    this.shape = shape;
    this.owner = owner;
    this.codec = codec;
    this.frames = frames;
    this.wire = wire;
    this.frameBytes = frameBytes;
    this.flows = new OutFlow[shape.size()];
    for (int member = 0; member < flows.length; member++) {
      if (shape.isSource(shape.self()) && shape.isReceiver(member)) {
        flows[member] = new OutFlow<>();
      }
    }
  }

  /** The flow to a member; null if nothing goes there. */
  @Nullable OutFlow<T> to(int member) {
    return flows[member];
  }

  /**
   * An item of the source. Calls user code.
   *
   * @param discard gets it if no member wants it
   */
  void take(T value, Consumer<? super T> discard) {
    if (shape.goesToAll()) {
      takeForAll(value, discard);
    } else {
      takeForOwner(value);
    }
  }

  private void takeForAll(T value, Consumer<? super T> discard) {
    int wanted = 0;
    for (OutFlow<T> flow : flows) {
      wanted += isLive(flow) ? 1 : 0;
    }
    if (wanted == 0) {
      discard.accept(value);
    }
    Item<T> item = new Item<>(value, wanted);
    for (OutFlow<T> flow : flows) {
      if (isLive(flow)) {
        flow.waiting.add(item);
      }
    }
  }

  private static boolean isLive(@Nullable OutFlow<?> flow) {
    return flow != null && !flow.hasEnded();
  }

  private void takeForOwner(T value) {
    int member = owner.applyAsInt(value);
    if (member < 0 || member >= flows.length) {
      throw new IllegalArgumentException(
          "members are 0 to " + (flows.length - 1) + ", and the owner is " + member);
    }
    OutFlow<T> flow = flows[member];
    if (flow == null) {
      throw new IllegalStateException("nothing goes to member " + member);
    }
    flow.waiting.add(new Item<>(value, 1));
  }

  /** The source has completed. */
  void completed() {
    complete = true;
  }

  /** How many items to ask for; they are booked. */
  int toAsk(@Nullable InFlow<T> own) {
    return shape.goesToAll() ? toAskForAll(own) : toAskForOwners();
  }

  /** As many as the slowest member has room for. */
  private int toAskForAll(@Nullable InFlow<T> own) {
    OutFlow<T> toOwn = flows[shape.self()];
    if (own != null && toOwn != null) {
      toOwn.credit(own.delivered(), 0);
    }
    long least = Long.MAX_VALUE;
    for (OutFlow<T> flow : flows) {
      if (isLive(flow)) {
        least = Math.min(least, flow.wanted());
      }
    }
    int more = least == Long.MAX_VALUE ? 0 : (int) Math.max(0, least - asked);
    asked += more;
    return more;
  }

  private int toAskForOwners() {
    int free = WINDOW - occupied;
    if (free < WINDOW / 4) {
      return 0;
    }
    occupied += free;
    return free;
  }

  /** Lets go what there is room for. Calls user code. */
  void pump(@Nullable InFlow<T> own) {
    for (int member = 0; member < flows.length && !wire.hasEnded(); member++) {
      OutFlow<T> flow = flows[member];
      if (flow == null || flow.hasEnded()) {
        continue;
      }
      if (member == shape.self() && own != null) {
        pass(flow, own);
      } else {
        send(member, flow);
      }
    }
  }

  /** Whether something to this very member waits, and there is room again. */
  boolean mayPass(@Nullable InFlow<T> own) {
    OutFlow<T> flow = flows[shape.self()];
    return own != null && flow != null && !flow.waiting.isEmpty() && own.hasRoom();
  }

  private void pass(OutFlow<T> flow, InFlow<T> own) {
    while (own.hasRoom() && !flow.waiting.isEmpty()) {
      Item<T> item = flow.waiting.remove();
      own.add(item.value);
      flow.sent(0);
      left(item);
    }
    if (complete && flow.waiting.isEmpty()) {
      flow.end();
      own.end(flow.sent());
    }
  }

  private void send(int member, OutFlow<T> flow) {
    while (flow.hasRoom() && !flow.waiting.isEmpty()) {
      Item<T> item = flow.waiting.element();
      byte[] bytes = item.bytes(codec, shape.operation());
      if (wire.hasEnded()) {
        batch.clear();
        return;
      }
      if (flow.isTooLong(bytes.length)) {
        throw Item.tooLong(shape.operation(), "" + bytes.length, flow.windowBytes());
      }
      if (!flow.fits(bytes.length)) {
        break;
      }
      if (!batch.isEmpty() && batchBytes + Integer.BYTES + bytes.length > frameBytes) {
        flush(member, flow);
      }
      flow.waiting.remove();
      batch.add(bytes);
      batchBytes += Integer.BYTES + bytes.length;
      flow.sent(bytes.length);
      left(item);
    }
    flush(member, flow);
    if (complete && flow.waiting.isEmpty() && flow.isOpen()) {
      flow.end();
      wire.send(member, frames.end(flow.sent()));
    }
  }

  private void flush(int member, OutFlow<T> flow) {
    if (!batch.isEmpty()) {
      wire.send(member, frames.items(flow.sent() - batch.size(), batch));
      batch.clear();
      batchBytes = 0;
    }
  }

  private void left(Item<T> item) {
    if (item.leaves()) {
      occupied--;
    }
  }

  /** A member wants no more. */
  void detach(int member, Consumer<? super T> discard) {
    OutFlow<T> flow = flows[member];
    if (flow != null) {
      clear(flow, discard);
      flow.end();
    }
  }

  /** Nothing of the source is sent beyond so many items. */
  void stopAt(long items, Consumer<? super T> discard) {
    complete = true;
    for (OutFlow<T> flow : flows) {
      while (flow != null && !flow.waiting.isEmpty() && flow.sent() + flow.waiting.size() > items) {
        giveUp(flow.waiting.removeLast(), discard);
      }
    }
  }

  /** Whether all has left. */
  boolean isDone() {
    for (OutFlow<T> flow : flows) {
      if (flow != null && !flow.hasEnded()) {
        return false;
      }
    }
    return true;
  }

  /** Nothing leaves any more. */
  void clear(Consumer<? super T> discard) {
    for (OutFlow<T> flow : flows) {
      if (flow != null) {
        clear(flow, discard);
      }
    }
  }

  private void clear(OutFlow<T> flow, Consumer<? super T> discard) {
    while (!flow.waiting.isEmpty()) {
      giveUp(flow.waiting.remove(), discard);
    }
  }

  private void giveUp(Item<T> item, Consumer<? super T> discard) {
    if (item.isGivenUp() && !item.hasLeft()) {
      discard.accept(item.value);
    }
  }
}
