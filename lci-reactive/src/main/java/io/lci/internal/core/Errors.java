/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.PostOutcome;
import io.lci.error.CollectiveFailedException;
import io.lci.error.CollectiveMismatchException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.MemoryClosedException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.error.PortMismatchException;
import io.lci.error.ResourceExhaustedException;
import io.lci.error.TruncatedException;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;

/** From native codes to exceptions and outcomes. */
public final class Errors {
  private static final PostOutcome[] OUTCOMES = outcomes();

  private Errors() {}

  /** Throws unless the code is done. Hint and rank are what the core's own error says. */
  public static void check(NativeCalls calls, int code, String operation, int device) {
    if (code != Codes.DONE) {
      String hint = NativeMemory.string(calls.lastError());
      int rank = calls.lastErrorRank();
      throw of(
          new Detail(operation, rank, LciException.NONE, device, name(calls, code), hint), code);
    }
  }

  public static LciException of(Detail detail, int code) {
    return switch (code) {
      case Codes.ERR_PORT_CLOSED -> new PortClosedException(detail);
      case Codes.ERR_PORT_MISMATCH -> new PortMismatchException(detail);
      case Codes.ERR_PEER_FAILED -> new PeerFailedException(detail);
      case Codes.ERR_PEER_LEFT -> new PeerLeftException(detail);
      case Codes.ERR_TRUNCATED -> new TruncatedException(detail);
      case Codes.ERR_MISMATCH -> new CollectiveMismatchException(detail);
      case Codes.ERR_COLLECTIVE -> new CollectiveFailedException(detail);
      case Codes.ERR_CANCELLED -> new OperationCancelledException(detail);
      case Codes.ERR_CLOSED, Codes.ERR_FENCED -> new LciClosedException(detail);
      case Codes.ERR_MEMORY_CLOSED -> new MemoryClosedException(detail);
      case Codes.ERR_EXHAUSTED, Codes.ERR_NO_MEMORY -> new ResourceExhaustedException(detail);
      default -> new LciException(detail);
    };
  }

  /** What to tell the user beyond the code's name. */
  public static String hint(int code) {
    return switch (code) {
      case Codes.ERR_ARGUMENT -> "the operation's options contradict each other";
      case Codes.ERR_RANK -> "the rank is outside the job";
      case Codes.ERR_TAG -> "the tag is larger than this kind of operation can carry";
      case Codes.ERR_SIZE -> "the payload is larger than this kind of operation can carry";
      case Codes.ERR_PORT -> "port numbers are 1 to 32765, and a port is opened once per rank";
      case Codes.ERR_DEVICE -> "the operation does not go by this device";
      case Codes.ERR_PORT_CLOSED -> "the receiver closed the port";
      case Codes.ERR_PORT_MISMATCH -> "the receiver gave this port number another name";
      case Codes.ERR_PEER_FAILED -> "the peer died";
      case Codes.ERR_PEER_LEFT -> "the peer left the job";
      case Codes.ERR_TRUNCATED -> "the message was longer than the receive buffer";
      case Codes.ERR_CANCELLED -> "the operation was cancelled before it took effect";
      case Codes.ERR_CLOSED -> "the runtime is closed";
      case Codes.ERR_FENCED ->
          "this rank counts as failed in the job; the log says which rank said so";
      case Codes.ERR_MEMORY_CLOSED -> "the region of memory was freed, or closed here";
      case Codes.ERR_NOT_PENDING -> "the receive was matched, or has ended";
      case Codes.ERR_RUN_NUMBER -> "the last run failed; the next one needs a number";
      case Codes.ERR_MISMATCH -> "members of the group called different collectives";
      case Codes.ERR_COLLECTIVE -> "a member of the group gave the context up";
      case Codes.ERR_OVERRUN -> "a rank is too far ahead, or there was no room for a signal";
      case Codes.ERR_EXHAUSTED -> "the backlog is full; allow retry or slow down";
      case Codes.ERR_NO_MEMORY -> "no memory is left on this machine or in this container";
      default -> "";
    };
  }

  public static String name(NativeCalls calls, int code) {
    return NativeMemory.string(calls.codeName(code));
  }

  public static LciClosedException closed(String operation) {
    return new LciClosedException(Detail.of(operation, "error_closed", "the runtime was closed"));
  }

  /** Others count this rank as failed. */
  public static LciClosedException fenced(String operation) {
    return new LciClosedException(Detail.of(operation, "error_fenced", hint(Codes.ERR_FENCED)));
  }

  /** One object went; the runtime lives on. */
  static LciClosedException disposed(String operation, String what, String remedy) {
    return new LciClosedException(
        Detail.of(operation, "error_closed", "the " + what + " was disposed; " + remedy));
  }

  /** The public outcome of a native code that is not an error. */
  public static PostOutcome outcome(int code) {
    return OUTCOMES[code];
  }

  private static PostOutcome[] outcomes() {
    PostOutcome[] all = new PostOutcome[Codes.RETRY_ORDER + 1];
    java.util.Arrays.fill(all, PostOutcome.RETRY_LOCK);
    all[Codes.DONE] = PostOutcome.DONE;
    all[Codes.DONE_BACKLOG] = PostOutcome.DONE_BACKLOG;
    all[Codes.POSTED] = PostOutcome.POSTED;
    all[Codes.POSTED_BACKLOG] = PostOutcome.POSTED_BACKLOG;
    all[Codes.RETRY_NOPACKET] = PostOutcome.RETRY_NOPACKET;
    all[Codes.RETRY_NOMEM] = PostOutcome.RETRY_NOMEM;
    all[Codes.RETRY_BACKLOG] = PostOutcome.RETRY_BACKLOG;
    all[Codes.RETRY_NOCREDIT] = PostOutcome.RETRY_NOCREDIT;
    all[Codes.RETRY_PENDING] = PostOutcome.RETRY_PENDING;
    all[Codes.RETRY_ORDER] = PostOutcome.RETRY_ORDER;
    return all;
  }
}
