/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.AmOp;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.loop.EventLoop;
import java.util.function.Consumer;

/** Brings the frames of a stream to the other members. Loop only. */
final class Courier implements Wire {
  /** Whose frames they are. */
  interface Sender {
    /** Whether it has ended. */
    boolean hasEnded();

    /** One has left. */
    void frameLeft();

    /** One is lost, and no end of its rank tells that. */
    void frameLost(LciException problem);
  }

  private final EventLoop loop;
  private final Shape shape;
  private final int device;
  private final Sender sender;

  /** Frames that have not left. */
  private int leaving;

  Courier(EventLoop loop, StreamMembers members, Shape shape, Sender sender) {
    this.loop = loop;
    this.shape = shape;
    this.device = members.device();
    this.sender = sender;
  }

  @Override
  public boolean hasEnded() {
    return sender.hasEnded();
  }

  void toOthers(byte[] frame) {
    for (int member = 0; member < shape.size(); member++) {
      if (member != shape.self()) {
        send(member, frame);
      }
    }
  }

  @Override
  public void send(int member, byte[] frame) {
    leaving++;
    Leaving one = new Leaving(this::left, this::lost);
    AmOp op =
        Op.am(shape.group().worldRank(member), ReservedPorts.GROUPS, Payload.of(frame))
            .tag(device)
            .advanced(set -> set.device(device))
            .onOutcome(outcome -> one.left())
            .onError(one::failed);
    try {
      loop.poster().submit(op);
    } catch (LciException e) { // the runtime closes
      one.failed(e);
    }
  }

  boolean allHaveLeft() {
    return leaving == 0;
  }

  private void left() {
    leaving--;
    sender.frameLeft();
  }

  private void lost(LciException problem) {
    if (!isOfAnEnd(problem)) {
      sender.frameLost(problem);
    }
  }

  /** The event of the peer, or the close, tells that. A peer closes its ports before it leaves. */
  private static boolean isOfAnEnd(LciException problem) {
    return problem instanceof PeerFailedException
        || problem instanceof PeerLeftException
        || problem instanceof PortClosedException
        || problem instanceof LciClosedException;
  }

  /** One frame. It leaves once, and may be lost behind that. */
  static final class Leaving {
    private final Runnable left;
    private final Consumer<? super LciException> lost;
    private boolean over;

    Leaving(Runnable left, Consumer<? super LciException> lost) {
      this.left = left;
      this.lost = lost;
    }

    void left() {
      if (!over) {
        over = true;
        left.run();
      }
    }

    void failed(LciException problem) {
      left();
      lost.accept(problem);
    }
  }
}
