/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.error.ResourceExhaustedException;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.stream.StreamLimits;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How many exchanges there are with a peer, and those that wait for a place. Loop only. */
final class Places {
  private final int peer;
  private final StreamLimits limits;
  private final LinkedHashSet<Exchange> waiting = new LinkedHashSet<>();
  private int myStreams;
  private int myRequests;
  private int theirStreams;
  private int theirRequests;

  Places(int peer, StreamLimits limits) {
    this.peer = peer;
    this.limits = limits;
  }

  /** Those that wait, at the moment. */
  List<Exchange> waiting() {
    return List.copyOf(waiting);
  }

  /**
   * Gives one of this rank's exchanges a place, now or later; or ends it, if there are too many.
   *
   * @return whether it has one
   */
  boolean take(Exchange exchange) {
    if (!exchange.kind.isShort()) {
      if (myStreams < limits.streams()) {
        myStreams++;
        exchange.placed = true;
      } else {
        refuse(exchange, "streams with rank " + peer + " at a time", limits.streams());
      }
    } else if (myRequests < limits.requests()) {
      myRequests++;
      exchange.placed = true;
    } else if (waiting.size() < limits.waiting()) {
      waiting.add(exchange);
    } else {
      refuse(exchange, "requests that wait for rank " + peer, limits.waiting());
    }
    return exchange.placed;
  }

  private void refuse(Exchange exchange, String what, int most) {
    exchange.fail(
        new ResourceExhaustedException(
            WireError.detail(
                exchange.operation(),
                peer,
                WireError.EXHAUSTED,
                "there are " + most + " " + what + ": the limit")),
        Outcome.ERROR);
  }

  /**
   * Gives an exchange of the peer a place.
   *
   * @return 0 if it has one, or how many there may be
   */
  int takeTheirs(Exchange exchange) {
    boolean brief = exchange.kind.isShort();
    int most = brief ? limits.requests() : limits.streams();
    if ((brief ? theirRequests : theirStreams) >= most) {
      return most;
    }
    theirRequests += brief ? 1 : 0;
    theirStreams += brief ? 0 : 1;
    exchange.placed = true;
    return 0;
  }

  /**
   * An exchange is over.
   *
   * @return the one that has its place now, if one waited
   */
  @Nullable Exchange leave(Exchange exchange) {
    boolean brief = exchange.kind.isShort();
    if (!exchange.placed) {
      waiting.remove(exchange);
    } else if (!exchange.opener) {
      theirRequests -= brief ? 1 : 0;
      theirStreams -= brief ? 0 : 1;
    } else if (!brief) {
      myStreams--;
    } else {
      Iterator<Exchange> first = waiting.iterator();
      if (first.hasNext()) {
        Exchange next = first.next();
        first.remove();
        next.placed = true;
        return next;
      }
      myRequests--;
    }
    return null;
  }
}
