/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * One remote procedure call as one of its two sides sees it, for observers ({@link
 * io.lci.LciInstrumentation#rpcStarted}).
 */
public interface RpcExchange {

  /** Whose view it is. */
  enum Side {
    /** The rank that asked. */
    CLIENT,
    /** The rank that serves the function. */
    SERVER
  }

  /** The four interactions. */
  enum Interaction {
    /** One request, no answer. */
    FIRE_AND_FORGET,
    /** One request, one answer. */
    REQUEST_RESPONSE,
    /** One request, many answers. */
    REQUEST_STREAM,
    /** Many requests, many answers. */
    REQUEST_CHANNEL
  }

  /** How an exchange ended. */
  enum Outcome {
    /** The last signal was complete. */
    COMPLETED,
    /** It ended with an error: of the function, of the peer, or a deadline. */
    FAILED,
    /** The asking side cancelled. */
    CANCELLED
  }

  /** Returns whose view this is. */
  Side side();

  /** Returns the interaction. */
  Interaction interaction();

  /**
   * Returns the function's name. On the server's side it is one that is served there, so that there
   * are few of them; requests for unknown names are not told to observers.
   */
  String function();

  /** Returns the other side's rank. */
  int peer();

  /**
   * Metadata of the request, by lower-case name, such as {@code traceparent}. On the client's side
   * modifiable while {@link io.lci.LciInstrumentation#rpcStarted} runs: what an observer puts there
   * travels with the request. On the server's side what came, unmodifiable.
   *
   * @return the metadata
   */
  Map<String, String> metadata();

  /**
   * Returns the Reactor context of the subscriber that asked; on the server's side the empty one.
   */
  default ContextView context() {
    return Context.empty();
  }

  /** What an observer keeps of an exchange that began. */
  interface Handle {
    /** Of an observer that does not care. */
    Handle NONE = (outcome, error) -> {};

    /**
     * The exchange ended. Called once, on the loop of the exchange; quick, and must not throw.
     *
     * @param outcome how
     * @param error why it failed; null unless {@link Outcome#FAILED}, and then too if unknown
     */
    void ended(Outcome outcome, @Nullable Throwable error);

    /**
     * As {@link #ended(Outcome, Throwable)} without an error.
     *
     * @param outcome how
     */
    default void ended(Outcome outcome) {
      ended(outcome, null);
    }

    /**
     * The Reactor context that the served function is to see, so that what it does belongs to this
     * exchange. Called on the server's side, before the function's publisher is subscribed.
     *
     * @param context that of the exchange
     * @return the same, or one with more
     */
    default Context contextWrite(Context context) {
      return context;
    }
  }
}
