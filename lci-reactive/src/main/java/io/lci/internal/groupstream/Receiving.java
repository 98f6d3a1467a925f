/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.collective.StreamOptions;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/** What a member receives of a stream: a flow of each source. Loop only. */
final class Receiving<T> {
  private final Shape shape;
  private final @Nullable InFlow<T>[] flows;
  private final Codec<T> codec;

  /** The source whose turn it is. */
  private int turn;

  @SuppressWarnings("unchecked") // an array of a class with a parameter
  Receiving(Shape shape, Codec<T> codec, StreamOptions options) {
    this.shape = shape;
    this.codec = codec;
    this.flows = new InFlow[shape.size()];
    for (int member = 0; member < flows.length; member++) {
      if (shape.isReceiver(shape.self()) && shape.isSource(member)) {
        flows[member] = new InFlow<>(options.windowItems(), options.windowBytes());
      }
    }
  }

  /** The flow of a member; null if nothing comes of it. */
  @Nullable InFlow<T> of(int member) {
    return flows[member];
  }

  /** Lets go what was not delivered. */
  void clear(Consumer<? super T> discard) {
    for (InFlow<T> flow : flows) {
      if (flow != null) {
        flow.clear(discard);
      }
    }
  }

  /** Nothing is wanted of a member any more, nor waited for. */
  void leave(int member) {
    flows[member] = null;
  }

  /** The codec threw: that is no fault of the sender. */
  static final class CodecFault extends RuntimeException {
    private static final long serialVersionUID = 1;

    final Throwable reason;

    CodecFault(Throwable reason) {
      super(null, reason, false, false);
      this.reason = reason;
    }
  }

  /**
   * Items have come. Calls user code, which may end the stream.
   *
   * @param wanted whether anybody takes them
   * @param discard gets what is decoded when it has ended
   * @throws CodecFault if the codec threw
   */
  void take(int member, InFrame frame, boolean wanted, Wire wire, Consumer<? super T> discard) {
    InFlow<T> flow = known(member);
    long number = frame.longAt(0);
    for (int at = OutFrame.ITEMS_HEAD; at < frame.size(); number++) {
      int bytes = frame.itemBytes(at);
      flow.check(number, bytes);
      if (wanted) {
        T value = decode(frame.item(at));
        if (wire.hasEnded()) {
          discard.accept(value);
          return;
        }
        flow.put(number, value, bytes);
      } else {
        flow.drop(number, bytes);
      }
      at += Integer.BYTES + bytes;
    }
  }

  private T decode(Message message) {
    T value;
    try {
      value = codec.decode(message);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      throw new CodecFault(e);
    }
    if (value == null) {
      throw new CodecFault(new IllegalStateException("the codec returned null"));
    }
    return value;
  }

  void end(int member, long count) {
    known(member).end(count);
  }

  private InFlow<T> known(int member) {
    InFlow<T> flow = flows[member];
    if (flow == null) {
      throw new IllegalStateException("items of member " + member + ", which is no source");
    }
    return flow;
  }

  /** The member whose next item is to be delivered; negative if there is none. */
  int next() {
    return shape.isInRounds() ? nextOfRound() : nextOfAny();
  }

  /** Of each member in its turn, so that none gets ahead of the others. */
  private int nextOfRound() {
    int member = turn % flows.length;
    InFlow<T> flow = flows[member];
    if (flow == null || !flow.hasNext()) {
      return -1;
    }
    turn = member + 1;
    return member;
  }

  /**
   * A member that has no item for the round, while another one has: it has completed. Negative if
   * there is none.
   */
  int endsFirst() {
    int member = turn % flows.length;
    InFlow<T> first = flows[member];
    if (member > 0) {
      return first != null && first.isDone() ? member : -1;
    }
    int ended = -1;
    boolean goesOn = false;
    for (int i = 0; i < flows.length; i++) {
      InFlow<T> flow = flows[i];
      if (flow != null && flow.isDone()) {
        ended = i;
      } else if (flow != null && flow.hasNext()) {
        goesOn = true;
      }
    }
    return goesOn ? ended : -1;
  }

  private int nextOfAny() {
    for (int i = 0; i < flows.length; i++) {
      int member = (turn + i) % flows.length;
      InFlow<T> flow = flows[member];
      if (flow != null && flow.hasNext()) {
        turn = member + 1;
        return member;
      }
    }
    return -1;
  }

  /** Tells the sources what was delivered, where that is worth it. */
  void grant(OutFrame frames, Wire wire) {
    for (int member = 0; member < flows.length; member++) {
      InFlow<T> flow = flows[member];
      if (flow != null && member != shape.self() && flow.owesCredit()) {
        wire.send(member, flow.credit(frames));
      }
    }
  }

  /** Whether an item is here that was not delivered. */
  boolean hasAny() {
    for (InFlow<T> flow : flows) {
      if (flow != null && flow.hasNext()) {
        return true;
      }
    }
    return false;
  }

  boolean isDone() {
    for (InFlow<T> flow : flows) {
      if (flow != null && !flow.isDone()) {
        return false;
      }
    }
    return true;
  }
}
