/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * One call as its observer sees it, on the calling side and on the serving side: the argument of
 * {@link io.lci.LciInstrumentation#rpcStarted}. On loop 0.
 *
 * @since 0.1
 */
public interface RpcExchange {
  /** Most bytes of {@link #traceparent()}. */
  int MAX_TRACEPARENT = 256;

  /** The side that observes. */
  enum Side {
    /** The rank that calls. */
    CLIENT,
    /** The rank that serves. */
    SERVER
  }

  /** How a call ended. */
  enum Outcome {
    /** It completed. */
    SUCCESS,
    /** An error of the handler, of user code, of a limit or of the protocol. */
    ERROR,
    /** The caller cancelled it. */
    CANCELLED,
    /** Its deadline passed; the server sees {@link #CANCELLED}. */
    DEADLINE,
    /** The other rank died or left, or this runtime closed. */
    LOST
  }

  /** {@return the side that observes} */
  Side side();

  /** {@return how the function is called} */
  Interaction interaction();

  /** {@return the function's name} */
  String function();

  /** {@return the other rank} */
  int rank();

  /** {@return the Reactor context of the caller's subscriber; empty on the server} */
  ContextView context();

  /**
   * {@return the W3C trace context that travels with the request: on the client as its observer set
   * it, on the server as it came; null if there is none}
   */
  @Nullable String traceparent();

  /**
   * Sets the trace context that travels with the request. Only on the client, only inside {@code
   * rpcStarted}.
   *
   * @param value at most {@value #MAX_TRACEPARENT} bytes in UTF-8
   */
  void traceparent(String value);

  /** Hears how the call goes on. */
  interface Handle {
    /** Does nothing. */
    Handle NONE = outcome -> {};

    /**
     * The call ended. Once, on loop 0.
     *
     * @param outcome how
     */
    void ended(Outcome outcome);

    /**
     * Adds to the Reactor context in which the server subscribes to the handler's answer.
     *
     * @param context empty
     * @return the context
     */
    default Context handlerContext(Context context) {
      return context;
    }
  }
}
