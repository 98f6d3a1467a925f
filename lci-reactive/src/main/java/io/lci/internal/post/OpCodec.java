/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.AmOp;
import io.lci.AtomicOp;
import io.lci.GetOp;
import io.lci.Op;
import io.lci.PutOp;
import io.lci.ReceiveOp;
import io.lci.ReplyOp;
import io.lci.SendOp;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.NativeTarget;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.RemoteId;
import io.lci.internal.lane.UserBuffer;
import io.lci.matching.MatchingEngine;
import io.lci.nativebridge.Codes;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes the descriptor of an {@link Op}, and reads what it brought. */
public final class OpCodec {
  private OpCodec() {}

  public static Destination destination(Outbox outbox, Op op) {
    int device = outbox.laneDevice(op.device());
    DestinationTable all = outbox.destinations;
    return switch (op.kind()) {
      case AM ->
          op instanceof AmOp am
              ? all.get(Destination.AM, device, op.rank(), am.port())
              : all.get(Destination.REPLY, device, op.rank(), ((ReplyOp) op).port());
      case SEND -> all.get(Destination.SEND, device, op.rank(), number(((SendOp) op).engine()));
      case RECEIVE ->
          all.get(Destination.RECEIVE, device, op.rank(), number(((ReceiveOp) op).engine()));
      case BARRIER -> all.get(Destination.BARRIER, device, 0, 0);
      case PUT, GET, ATOMIC -> {
        Port signalled = OpParts.port(op);
        yield signalled == null
            ? all.get(Destination.REMOTE, device, op.rank(), 0)
            : all.get(Destination.AM, device, op.rank(), signalled); // the signal's credit
      }
    };
  }

  private static int number(@Nullable MatchingEngine engine) {
    return engine == null ? 0 : engine.number();
  }

  public static void encode(Op op, CoreRuntime core, PostWriter out) {
    out.flags =
        (op.retryAllowed() ? 0 : Codes.FLAG_NO_RETRY) | (op.doneAllowed() ? 0 : Codes.FLAG_SIGNAL);
    switch (op.kind()) {
      case AM -> {
        if (op instanceof AmOp am) {
          message(am, core, out);
        } else {
          message((ReplyOp) op, out);
        }
      }
      case SEND -> send((SendOp) op, out);
      case RECEIVE -> receive((ReceiveOp) op, out);
      case BARRIER -> out.op = Codes.OP_BARRIER;
      case PUT -> put((PutOp) op, out);
      case GET -> get((GetOp) op, out);
      case ATOMIC -> atomic((AtomicOp) op, out);
    }
    target(op, out);
  }

  private static void message(AmOp op, CoreRuntime core, PostWriter out) {
    out.op = Codes.OP_AM;
    out.policy = op.replyTo() == null ? 0 : core.replyRooms.id(op.replyTo());
    end(op.semantic(), out);
    out.tag(op.tag()); // an encoder may set another
    write(op.payload(), out);
  }

  private static void message(ReplyOp op, PostWriter out) {
    out.op = Codes.OP_AM;
    out.policy = Codes.AM_REPLY;
    end(op.semantic(), out);
    out.tag(op.tag()); // an encoder may set another
    write(op.payload(), out);
  }

  private static void end(Op.Semantic semantic, PostWriter out) {
    if (semantic == Op.Semantic.NETWORK) {
      out.flags |= Codes.FLAG_NETWORK;
    }
  }

  private static void send(SendOp op, PostWriter out) {
    out.op = Codes.OP_SEND;
    out.policy = op.policy().ordinal();
    end(op.semantic(), out);
    write(op.payload(), out);
    out.tag(op.tag());
    if (op.engine() instanceof EngineImpl engine && engine.isKeyed()) {
      out.key(engine.key(op));
    }
  }

  private static void receive(ReceiveOp op, PostWriter out) {
    out.op = Codes.OP_RECV;
    out.policy = op.policy().ordinal();
    out.tag(op.tag());
    if (op.buffers() != null) {
      out.refer(op.buffers().parts(), false);
    } else if (op.buffer() instanceof UserBuffer user) {
      out.receiveInto(user.memory(), user.size());
    } else {
      out.receiveUpTo(op.maxBytes());
    }
    if (op.engine() instanceof EngineImpl engine && engine.isKeyed()) {
      out.key(engine.key(op));
    }
  }

  private static void put(PutOp op, PostWriter out) {
    out.op = Codes.OP_PUT;
    out.remote(((RemoteId) op.memory()).id(), op.offset());
    if (op.payload() instanceof BufferList list
        && (op.places() != null || out.refersTo(list.size()))) {
      refer(list, op.places(), op.memory(), op.offset(), out);
    } else {
      write(op.payload(), out);
    }
    out.tag(op.signalTag());
  }

  private static void get(GetOp op, PostWriter out) {
    out.op = Codes.OP_GET;
    out.remote(((RemoteId) op.memory()).id(), op.offset());
    out.tag(op.signalTag());
    if (op.buffers() != null) {
      refer(op.buffers(), op.places(), op.memory(), op.offset(), out);
    } else if (op.buffer() instanceof UserBuffer user) {
      out.receiveInto(user.memory(), user.size());
    } else {
      out.receiveInto(op.bytes());
    }
  }

  private static void atomic(AtomicOp op, PostWriter out) {
    out.remote(((RemoteId) op.memory()).id(), op.offset());
    out.atomic(code(op.change()), op.operand(), op.expected());
  }

  private static int code(Op.Atomic change) {
    return switch (change) {
      case GET_AND_ADD -> Codes.ATOMIC_ADD;
      case GET_AND_SET -> Codes.ATOMIC_SWAP;
      case COMPARE_AND_EXCHANGE -> Codes.ATOMIC_COMPARE_SWAP;
    };
  }

  private static void target(Op op, PostWriter out) {
    Object given = op.target();
    if (given == null) {
      return;
    }
    if (!(given instanceof NativeTarget target)) {
      out.flags |= Codes.FLAG_SIGNAL; // the loop tells of the end, and has it from the slot
      if (given instanceof HeapTarget heap) {
        out.relayedTo = heap;
      }
      return;
    }
    if (target.isDisposed()) {
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

  private static void write(Payload payload, PostWriter out) {
    int size = payload.size();
    boolean stays = out.refersTo(size);
    if (stays && payload instanceof BufferList list) {
      out.refer(list.parts(), false);
    } else if (stays && payload instanceof UserBuffer user) {
      out.refer(user.memory(), size);
    } else {
      payload.writeTo(out);
      if (out.size() != size) {
        throw new IllegalStateException(
            "payload announced " + size + " bytes and wrote " + out.size());
      }
    }
  }

  /** Buffers of a put or get that stay where they are, with the place of each. */
  private static void refer(
      BufferList list,
      @Nullable List<RemotePlace> places,
      RemoteMemory memory,
      long offset,
      PostWriter out) {
    List<LciBuffer> parts = list.parts();
    out.refer(parts, true);
    long next = offset;
    for (int i = 0; i < parts.size(); i++) {
      RemotePlace place = places == null ? null : places.get(i);
      RemoteMemory where = place == null ? memory : place.memory();
      out.place(i, ((RemoteId) where).id(), place == null ? next : place.offset());
      next += parts.get(i).size();
    }
  }

  /**
   * What a receive or get without a buffer of its own brought; null for all others.
   *
   * @throws PooledBuffer.NoMemory if the heap has no room for it
   */
  public static @Nullable Message message(
      Op op, @Nullable PooledBuffer memory, int rank, long tag, int size) {
    if (memory == null || !OpParts.bringsBytes(op)) {
      return null;
    }
    byte[] bytes = PooledBuffer.heap(size);
    memory.memory.get(0, bytes);
    return new Message(rank, tag, bytes);
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
