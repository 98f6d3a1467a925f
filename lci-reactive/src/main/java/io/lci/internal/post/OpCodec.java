/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.NativeTarget;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.RemoteId;
import io.lci.internal.lane.UserBuffer;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Writes the descriptor of an {@link Op}, and reads what it brought. */
public final class OpCodec {
  private OpCodec() {}

  public static Destination destination(Outbox outbox, Op op) {
    int device = outbox.laneDevice(op.device());
    return switch (op.kind()) {
      case AM ->
          outbox.destinations.get(
              op.isReply() ? Destination.REPLY : Destination.AM,
              device,
              op.rank(),
              Objects.requireNonNull(op.port()));
      case SEND -> outbox.destinations.get(Destination.SEND, device, op.rank(), engine(op));
      case RECEIVE -> outbox.destinations.get(Destination.RECEIVE, device, op.rank(), engine(op));
      case BARRIER -> outbox.destinations.get(Destination.BARRIER, device, 0, 0);
      case PUT, GET, ATOMIC ->
          op.port() == null
              ? outbox.destinations.get(Destination.REMOTE, device, op.rank(), 0)
              : outbox.destinations.get(
                  Destination.AM, device, op.rank(), op.port()); // the signal's credit
    };
  }

  private static int engine(Op op) {
    return op.engine() == null ? 0 : op.engine().number();
  }

  public static int sizeHint(Op op) {
    Payload payload = op.payload();
    return payload == null ? 0 : payload.size();
  }

  public static void encode(Op op, CoreRuntime core, PostWriter out) {
    out.policy = policy(op, core);
    out.flags =
        (op.retryAllowed() ? 0 : Codes.FLAG_NO_RETRY)
            | (op.doneAllowed() ? 0 : Codes.FLAG_SIGNAL)
            | (op.semantic() == Op.Semantic.NETWORK ? Codes.FLAG_NETWORK : 0);
    RemoteId remote = (RemoteId) op.remote();
    if (remote != null) {
      out.remote(remote.id(), op.offset());
    }
    out.tag(op.tag());
    writePayload(op, out);
    if (op.kind() != Op.Kind.AM) { // a message to a port may have the tag that an encoder sets
      out.tag(op.tag());
    }
    switch (op.kind()) {
      case AM -> out.op = Codes.OP_AM;
      case SEND -> out.op = Codes.OP_SEND;
      case RECEIVE -> {
        out.op = Codes.OP_RECV;
        out.flags |= Codes.FLAG_SIGNAL;
        receive(op, out);
      }
      case BARRIER -> {
        out.op = Codes.OP_BARRIER;
        out.flags |= Codes.FLAG_SIGNAL;
      }
      case PUT -> out.op = Codes.OP_PUT;
      case GET -> {
        out.op = Codes.OP_GET;
        receive(op, out);
      }
      case ATOMIC -> out.atomic(code(op.atomic()), op.operand(), op.expected());
    }
    if (op.engine() instanceof EngineImpl engine && engine.isKeyed()) {
      out.key(engine.key(op));
    }
    NativeTarget target = (NativeTarget) op.target();
    if (target == null || target.isDisposed()) {
      return;
    }
    if (signalsNatively(op, out)) {
      out.flags |= Codes.FLAG_COMP;
      out.completionId = target.id();
      out.userContext = op.userContext();
    } else if (target.mayBeFull()) {
      out.relayedTo = target;
    }
  }

  /** What is compared; of an active message, what is asked or answered. */
  private static int policy(Op op, CoreRuntime core) {
    return switch (op.kind()) {
      case SEND, RECEIVE -> op.policy().ordinal();
      case AM ->
          (op.isReply() ? Codes.AM_REPLY : 0)
              | (op.replyTo() == null ? 0 : core.replyRooms.id(op.replyTo()));
      case BARRIER, PUT, GET, ATOMIC -> 0;
    };
  }

  private static int code(Op.@Nullable Atomic atomic) {
    return switch (Objects.requireNonNull(atomic)) {
      case GET_AND_ADD -> Codes.ATOMIC_ADD;
      case GET_AND_SET -> Codes.ATOMIC_SWAP;
      case COMPARE_AND_EXCHANGE -> Codes.ATOMIC_COMPARE_SWAP;
    };
  }

  private static void writePayload(Op op, PostWriter out) {
    Payload payload = op.payload();
    if (payload == null) {
      return;
    }
    int size = payload.size();
    if (payload instanceof BufferList list && (size > Layout.INLINE_MAX || op.places() != null)) {
      refer(op, list, out);
    } else if (size > Layout.INLINE_MAX && payload instanceof UserBuffer user) {
      out.refer(user.memory(), size);
    } else {
      payload.writeTo(out);
      if (out.size() != size) {
        throw new IllegalStateException(
            "payload announced " + size + " bytes and wrote " + out.size());
      }
    }
  }

  private static void receive(Op op, PostWriter out) {
    if (op.buffers() != null) {
      refer(op, op.buffers(), out);
    } else if (op.buffer() instanceof UserBuffer user) {
      out.receiveInto(user.memory(), user.size());
    } else if (op.kind() == Op.Kind.RECEIVE) {
      out.receiveUpTo(op.receiveBytes());
    } else {
      out.receiveInto(op.receiveBytes());
    }
  }

  /** Buffers that stay where they are; of a put or get, with the place of each. */
  private static void refer(Op op, BufferList list, PostWriter out) {
    List<LciBuffer> parts = list.parts();
    out.refer(parts, op.remote() != null);
    if (op.remote() == null) {
      return;
    }
    List<RemotePlace> places = op.places();
    long offset = op.offset();
    for (int i = 0; i < parts.size(); i++) {
      RemotePlace place = places == null ? null : places.get(i);
      RemoteMemory memory = place == null ? op.remote() : place.memory();
      out.place(i, ((RemoteId) memory).id(), place == null ? offset : place.offset());
      offset += parts.get(i).size();
    }
  }

  /**
   * What a receive or get without a buffer of its own brought; null for all others.
   *
   * @throws PooledBuffer.NoMemory if the heap has no room for it
   */
  public static @Nullable Message message(
      Op op, @Nullable PooledBuffer memory, int rank, long tag, int size) {
    if (memory == null || !bringsBytes(op)) {
      return null;
    }
    byte[] bytes = PooledBuffer.heap(size);
    memory.memory.get(0, bytes);
    return new Message(rank, tag, bytes);
  }

  static boolean bringsBytes(Op op) {
    return op.buffer() == null
        && op.buffers() == null
        && (op.kind() == Op.Kind.RECEIVE || op.kind() == Op.Kind.GET);
  }

  /**
   * An operation that holds memory keeps its slot, so that the memory returns, and so does one that
   * its publisher reports at its end; its loop passes the signal on.
   */
  private static boolean signalsNatively(Op op, PostWriter out) {
    return out.form() != Codes.FLAG_BUFFER
        && op.kind() != Op.Kind.BARRIER
        && op.kind() != Op.Kind.ATOMIC;
  }
}
