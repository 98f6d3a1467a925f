/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.ReceiveOp;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.core.Thrown;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.PooledBuffer;
import io.lci.nativebridge.Codes;

/** Says what failed, where and why, of the operations of one loop. */
public final class Failures {
  private final CoreRuntime core;
  private final Lane lane;

  Failures(CoreRuntime core, Lane lane) {
    this.core = core;
    this.lane = lane;
  }

  /** The core refused the operation. */
  LciException failure(Destination destination, int code) {
    return failure(destination, code, LciException.NONE, hint(destination, code));
  }

  /** The core ended the operation, and says with whom, and of a message its tag and size. */
  LciException ended(Op op, Destination destination, int code, int peer, long tag, int size) {
    String hint =
        code == Codes.ERR_TRUNCATED && op instanceof ReceiveOp receive
            ? "the message with tag "
                + tag
                + " has "
                + Integer.toUnsignedString(size)
                + " bytes, and the receive has room for "
                + receive.maxBytes()
            : hint(destination, code);
    return failure(destination, code, peer, hint);
  }

  private LciException failure(Destination destination, int code, int peer, String hint) {
    int rank = culprit(destination, code, peer);
    return Errors.of(detail(destination, rank, Errors.name(lane.calls, code), hint), code);
  }

  /** What a code means for this kind of destination. */
  private static String hint(Destination destination, int code) {
    boolean engine = destination.kind == Destination.SEND;
    if (code == Codes.ERR_ARGUMENT && destination.kind == Destination.REPLY) {
      return "no request of that rank is left to be answered at its port "
          + (destination.named == null ? destination.port : destination.named);
    }
    if (code == Codes.ERR_DEVICE && destination.kind == Destination.BARRIER) {
      return "barriers go by device 0; use the poster of loop 0";
    }
    if (code == Codes.ERR_PORT_MISMATCH && engine) {
      return "the receiver's engine has keys of another kind; make both the same";
    }
    if (code == Codes.ERR_PORT_CLOSED && engine) {
      return "the receiver disposed the engine";
    }
    if (code == Codes.ERR_PORT_MISMATCH && destination.named != null) {
      return Errors.hint(code) + "; here it is \"" + destination.named.name() + '"';
    }
    return Errors.hint(code);
  }

  /** An operation with all or any may still end because of one rank. */
  private int culprit(Destination destination, int code, int peer) {
    if (destination.hasPeer()) {
      return destination.rank;
    }
    if (code == Codes.ERR_TRUNCATED) {
      return peer;
    }
    if (code != Codes.ERR_PEER_FAILED && code != Codes.ERR_PEER_LEFT) {
      return LciException.NONE;
    }
    return peer >= 0 ? peer : core.firstGone(code);
  }

  /** The loop keeps no more waiting items. */
  LciException tooManyParked(Destination destination, int count) {
    return new ResourceExhaustedException(
        detail(
            destination,
            "error_exhausted",
            count + " operations wait already: the limit lci.max_parked"));
  }

  LciException encodeFailure(Destination destination, Throwable e) {
    if (e instanceof PooledBuffer.NoMemory none) {
      return noMemory(destination, none);
    }
    LciException failure =
        new LciException(
            detail(destination, "error_argument", "encoding failed: " + Thrown.text(e)));
    failure.initCause(e);
    return failure;
  }

  LciException noMemory(Destination destination, PooledBuffer.NoMemory e) {
    LciException failure =
        new ResourceExhaustedException(
            detail(destination, "error_no_memory", String.valueOf(e.getMessage())));
    failure.initCause(e);
    return failure;
  }

  Detail detail(Destination destination, String code, String hint) {
    int rank = destination.hasPeer() ? destination.rank : LciException.NONE;
    return detail(destination, rank, code, hint);
  }

  private Detail detail(Destination destination, int rank, String code, String hint) {
    return new Detail(
        destination.operation(),
        rank,
        destination.kind == Destination.REMOTE || destination.kind >= Destination.BARRIER
            ? LciException.NONE
            : destination.port,
        lane.firstDevice() + destination.device,
        code,
        hint);
  }
}
