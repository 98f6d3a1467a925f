/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.error.LciException;
import io.lci.error.ProtocolException;

/** Does what the frames of other members say. Loop only. */
final class Reading<T> {
  private final GroupStream<T, ?> stream;
  private final Shape shape;
  private final int device;
  private final Receiving<T> receiving;
  private final Sending<T> sending;
  private final Stall stall;
  private final Wire wire;

  Reading(
      GroupStream<T, ?> stream,
      Shape shape,
      int device,
      Receiving<T> receiving,
      Sending<T> sending,
      Stall stall,
      Wire wire) {
    this.stream = stream;
    this.shape = shape;
    this.device = device;
    this.receiving = receiving;
    this.sending = sending;
    this.stall = stall;
    this.wire = wire;
  }

  void read(InFrame frame) {
    try {
      take(frame);
    } catch (Receiving.CodecFault e) {
      stream.fault(e.reason);
    } catch (RuntimeException e) {
      stream.fault(nonsense(frame, e));
    }
  }

  private ProtocolException nonsense(InFrame frame, RuntimeException e) {
    return new ProtocolException(
        new LciException.Detail(
            shape.operation(),
            frame.rank(),
            LciException.NONE,
            device,
            "error_protocol",
            "it sent what makes no sense: " + e));
  }

  private void take(InFrame frame) {
    int member = frame.member();
    if (shape.group().worldRank(member) != frame.rank()) {
      throw new IllegalStateException("member " + member + " is another rank");
    }
    switch (frame.type()) {
      case OPEN -> opened(member, frame);
      case ITEMS -> receiving.take(member, frame, wantsItems(), wire, stream::discard);
      case END -> receiving.end(member, frame.longAt(0));
      case CREDIT -> {
        OutFlow<T> flow = sending.to(member);
        if (flow != null) {
          flow.credit(frame.longAt(0), frame.longAt(Long.BYTES));
        }
      }
      case DETACH -> detached(member);
      case ABORT -> stream.end(stream.error(frame.cause()));
    }
  }

  private boolean wantsItems() {
    return !stream.isOver() || shape.isInRounds();
  }

  private void detached(int member) {
    if (!shape.goesToAll()) {
      throw new IllegalStateException("member " + member + " leaves alone");
    }
    sending.detach(member, stream::discard);
  }

  private void opened(int member, InFrame frame) {
    StreamKind kind = StreamKind.of(frame.intAt(0));
    int root = frame.intAt(Integer.BYTES);
    if (kind != shape.kind() || root != shape.root()) {
      String theirs = kind == null ? "something unknown" : kind.call(root);
      String mine = shape.kind().call(shape.root());
      int self = shape.group().worldRank(shape.self());
      stream.abort(
          StreamCause.mismatch(
              frame.rank(),
              "rank " + frame.rank() + " called " + theirs + ", rank " + self + " called " + mine));
      return;
    }
    stall.begun(member);
    OutFlow<T> flow = sending.to(member);
    if (flow != null) {
      flow.open(frame.intAt(2 * Integer.BYTES), frame.intAt(3 * Integer.BYTES));
    }
  }
}
