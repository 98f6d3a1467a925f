/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.AmOp;
import io.lci.AtomicOp;
import io.lci.GetOp;
import io.lci.Op;
import io.lci.PutOp;
import io.lci.ReceiveOp;
import io.lci.ReplyOp;
import io.lci.SendOp;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.matching.MatchingEngine;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The parts that several kinds of operations have, for code that serves them all. */
public final class OpParts {
  private OpParts() {}

  /** The payload that is sent or written. */
  public static @Nullable Payload payload(Op op) {
    return switch (op.kind()) {
      case AM -> op instanceof AmOp am ? am.payload() : ((ReplyOp) op).payload();
      case SEND -> ((SendOp) op).payload();
      case PUT -> ((PutOp) op).payload();
      case RECEIVE, BARRIER, GET, ATOMIC -> null;
    };
  }

  public static int payloadBytes(Op op) {
    Payload payload = payload(op);
    return payload == null ? 0 : payload.size();
  }

  /** The tag of a message, or of the signal of a put or get. */
  public static long tag(Op op) {
    return switch (op.kind()) {
      case AM -> op instanceof AmOp am ? am.tag() : ((ReplyOp) op).tag();
      case SEND -> ((SendOp) op).tag();
      case RECEIVE -> ((ReceiveOp) op).tag();
      case PUT -> ((PutOp) op).signalTag();
      case GET -> ((GetOp) op).signalTag();
      case BARRIER, ATOMIC -> 0;
    };
  }

  /** The port of an active message, or of the signal of a put or get. */
  public static @Nullable Port port(Op op) {
    return switch (op.kind()) {
      case AM -> op instanceof AmOp am ? am.port() : ((ReplyOp) op).port();
      case PUT -> ((PutOp) op).signalPort();
      case GET -> ((GetOp) op).signalPort();
      case SEND, RECEIVE, BARRIER, ATOMIC -> null;
    };
  }

  /** The buffer that is read into. */
  public static @Nullable LciBuffer buffer(Op op) {
    return switch (op.kind()) {
      case RECEIVE -> ((ReceiveOp) op).buffer();
      case GET -> ((GetOp) op).buffer();
      case AM, SEND, BARRIER, PUT, ATOMIC -> null;
    };
  }

  /** The list that is read into. */
  public static @Nullable BufferList buffers(Op op) {
    return switch (op.kind()) {
      case RECEIVE -> ((ReceiveOp) op).buffers();
      case GET -> ((GetOp) op).buffers();
      case AM, SEND, BARRIER, PUT, ATOMIC -> null;
    };
  }

  /** Whether its completion's message has the bytes. */
  public static boolean bringsBytes(Op op) {
    return switch (op.kind()) {
      case RECEIVE, GET -> buffer(op) == null && buffers(op) == null;
      case AM, SEND, BARRIER, PUT, ATOMIC -> false;
    };
  }

  public static @Nullable MatchingEngine engine(Op op) {
    return switch (op.kind()) {
      case SEND -> ((SendOp) op).engine();
      case RECEIVE -> ((ReceiveOp) op).engine();
      case AM, BARRIER, PUT, GET, ATOMIC -> null;
    };
  }

  /** The parts of the key that send and receive compare; null: it has none. */
  public static Op.@Nullable Policy policy(Op op) {
    return switch (op.kind()) {
      case SEND -> ((SendOp) op).policy();
      case RECEIVE -> ((ReceiveOp) op).policy();
      case AM, BARRIER, PUT, GET, ATOMIC -> null;
    };
  }

  /** Whether it belongs to the run of a graph that posts it. */
  public static boolean isPerRun(Op op) {
    return switch (op.kind()) {
      case SEND -> ((SendOp) op).isPerRun();
      case RECEIVE -> ((ReceiveOp) op).isPerRun();
      case AM, BARRIER, PUT, GET, ATOMIC -> false;
    };
  }

  /** The region; where there are several, the first. */
  public static @Nullable RemoteMemory memory(Op op) {
    return switch (op.kind()) {
      case PUT -> ((PutOp) op).memory();
      case GET -> ((GetOp) op).memory();
      case ATOMIC -> ((AtomicOp) op).memory();
      case AM, SEND, RECEIVE, BARRIER -> null;
    };
  }

  /** Where each part of a put or get lies, if that is not one range. */
  public static @Nullable List<RemotePlace> places(Op op) {
    return switch (op.kind()) {
      case PUT -> ((PutOp) op).places();
      case GET -> ((GetOp) op).places();
      case AM, SEND, RECEIVE, BARRIER, ATOMIC -> null;
    };
  }
}
