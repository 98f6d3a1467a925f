/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.nativebridge.Codes;
import java.util.Objects;

/** Writes the descriptor of an {@link Op}. */
final class OpCodec {
  private OpCodec() {}

  static Destination destination(Outbox outbox, Op op) {
    return switch (op.kind()) {
      case AM -> outbox.destinations.get(op.rank(), Objects.requireNonNull(op.port()));
      case SEND -> outbox.destinations.get(Destination.SEND, op.rank(), op.engine());
      case RECEIVE -> outbox.destinations.get(Destination.RECEIVE, op.rank(), op.engine());
      case BARRIER -> outbox.destinations.get(Destination.BARRIER, 0, 0);
    };
  }

  static int sizeHint(Op op) {
    Payload payload = op.payload();
    return payload == null ? 0 : payload.size();
  }

  static void encode(Op op, PostWriter out) {
    out.policy = op.policy().ordinal();
    out.flags =
        (op.retryAllowed() ? 0 : Codes.FLAG_NO_RETRY) | (op.doneAllowed() ? 0 : Codes.FLAG_SIGNAL);
    Payload payload = op.payload();
    if (payload != null) {
      payload.writeTo(out);
      if (out.size() != payload.size()) {
        throw new IllegalStateException(
            "payload announced " + payload.size() + " bytes and wrote " + out.size());
      }
    }
    out.tag(op.tag());
    switch (op.kind()) {
      case AM -> out.op = Codes.OP_AM;
      case SEND -> out.op = Codes.OP_SEND;
      case RECEIVE -> {
        out.op = Codes.OP_RECV;
        out.flags |= Codes.FLAG_SIGNAL;
        out.receiveInto(op.receiveBytes());
      }
      case BARRIER -> {
        out.op = Codes.OP_BARRIER;
        out.flags |= Codes.FLAG_SIGNAL;
      }
    }
    if (op.target() != null && signalsNatively(op, out)) {
      out.flags |= Codes.FLAG_COMP;
      out.completionId = ((NativeTarget) op.target()).id();
    }
  }

  /**
   * An operation that holds memory keeps its slot, so that the memory returns; its loop passes the
   * signal on.
   */
  private static boolean signalsNatively(Op op, PostWriter out) {
    return out.form() != Codes.FLAG_BUFFER && op.kind() != Op.Kind.BARRIER;
  }
}
