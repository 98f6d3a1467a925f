/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.collective.Algorithm;
import io.lci.rpc.RpcExchange;
import java.time.Duration;
import java.util.List;

/**
 * Observer of a runtime, for metrics and tracing. Counters need no observer: they are always on and
 * read by {@link LciRuntime#snapshot()}. Methods are called rarely, never for each message (calls
 * of {@link #rpcStarted} and {@link #collectiveTimed} excepted), on the thread named with each;
 * they must be quick and must not throw. An exception is logged and otherwise ignored.
 *
 * @since 0.1
 */
public interface LciInstrumentation {
  /** One operation of so many is timed. */
  int TIMED_EVERY = 256;

  /** The observer that does nothing. */
  LciInstrumentation NONE =
      new LciInstrumentation() {
        @Override
        public String toString() {
          return "none";
        }
      };

  /**
   * The runtime is ready. Called once by the creating thread.
   *
   * @param runtime the runtime; {@link LciRuntime#snapshot()} may be called at any later time,
   *     after close too
   */
  default void runtimeStarted(LciRuntime runtime) {}

  /**
   * The runtime is closed. Called once, by the thread that finished closing, before {@link
   * LciRuntime#close()} returns and {@link LciRuntime#onClose()} completes.
   *
   * @param runtime the runtime
   */
  default void runtimeClosed(LciRuntime runtime) {}

  /**
   * A destination accepted nothing although operations wait for it. Called on the loop, once per
   * stall.
   *
   * @param rank the destination
   * @param port port number, or matching engine
   * @param reason the last retry reason
   * @param waiting operations waiting
   * @param stalled time without progress
   */
  default void stalled(int rank, int port, PostOutcome reason, int waiting, Duration stalled) {}

  /**
   * A loop is in one turn for longer than {@link LciOptions#blockedWarning()}: something that user
   * code calls does not return. Called once for such a turn, on a thread of {@link
   * LciOptions#timer()}, while the loop is still there.
   *
   * @param loop the loop
   * @param time since the watchdog saw that turn first
   * @param stack where its thread is, innermost call first
   */
  default void loopBlocked(LciLoop loop, Duration time, List<StackTraceElement> stack) {}

  /**
   * A peer changed state. Called on the first loop.
   *
   * @param event the change
   */
  default void peerChanged(PeerEvent event) {}

  /**
   * Tells how long one operation took. Each loop times one in {@link #TIMED_EVERY} of its
   * operations, if it ended well. The time begins when the loop wrote the operation for the core,
   * at the attempt that was accepted. It ends when the core has answered with done, or the loop has
   * read the signal. The time that an operation waited after a retry is not in it. Operations that
   * signal a completion object, and those that the core posts for a graph, are not timed. Called on
   * the loop.
   *
   * @param kind its kind
   * @param device its device
   * @param nanos how long, in nanoseconds
   */
  default void operationTimed(Op.Kind kind, int device, long nanos) {}

  /**
   * Tells how long one call of a group took this member: from its turn in the order of calls to its
   * end, with the time that it waited for other members. Each call is timed that ended well; one
   * that is made of several, such as one with values of a codec, counts each. Called on the loop of
   * its context.
   *
   * @param call the method's name, such as {@code allReduce}
   * @param algorithm that the program named, or else that the core chose; {@link Algorithm#AUTO}
   *     for an agreement, which has none
   * @param device the device of its context
   * @param bytes of the result that it has given this member
   * @param nanos how long, in nanoseconds
   */
  default void collectiveTimed(
      String call, Algorithm algorithm, int device, long bytes, long nanos) {}

  /**
   * A remote procedure call begins: on the client before its request is sent, on the server before
   * its handler is called. Called on the first loop.
   *
   * @param exchange the call
   * @return an observer of its end
   */
  default RpcExchange.Handle rpcStarted(RpcExchange exchange) {
    return RpcExchange.Handle.NONE;
  }
}
