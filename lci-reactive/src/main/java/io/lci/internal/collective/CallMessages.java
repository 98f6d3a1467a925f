/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.collective.World;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.post.EngineImpl;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.matching.EngineOptions;
import reactor.core.publisher.Mono;

/**
 * The messages of collective calls between ranks: sends on an engine of the runtime's own. The tag
 * is the number of the call and, in its lowest bits, the kind: calls never take messages of another
 * kind for their own, whatever the order of the calls.
 */
final class CallMessages {
  /** The kind of a message. Exchanges are numbered together, fences apart. */
  enum Kind {
    BYTES(0, World.MAX_EXCHANGE),
    /** How far a rank has written to another one: a number for each device. */
    POSITIONS(1, LciOptions.MAX_LOOPS * Long.BYTES),
    /** A rank has all that was sent to it. */
    DELIVERED(2, 1),
    /** A rank gives a group or context up. These have no number. */
    REVOKED(3, RevocationMessage.MAX_BYTES);

    /** The lowest bits of the tag. */
    private final int bits;

    /** Room for a message. */
    private final int maxBytes;

    Kind(int bits, int maxBytes) {
      this.bits = bits;
      this.maxBytes = maxBytes;
    }
  }

  /** The last number there is: the program's engines end before it. */
  private static final int ENGINE = 255;

  private final Outbox outbox;
  private final EngineImpl engine;

  /**
   * @param outbox of the loop that posts
   */
  CallMessages(CoreRuntime core, Outbox outbox) {
    this.outbox = outbox;
    this.engine = EngineImpl.create(core, ENGINE, EngineOptions.defaults());
  }

  Mono<Void> send(int peer, long number, Kind kind, byte[] bytes) {
    Op send = Op.send(peer, tag(number, kind), Payload.of(bytes)).engine(engine);
    return new MonoOp<>(outbox, send, OpResult.NOTHING);
  }

  Mono<Message> receive(int peer, long number, Kind kind) {
    Op receive = Op.receive(peer, tag(number, kind), kind.maxBytes).engine(engine);
    return new MonoOp<>(outbox, receive, OpResult.MESSAGE);
  }

  /** To {@link #receiveAny}. */
  Mono<Void> tell(int peer, Kind kind, byte[] bytes) {
    Op send =
        Op.send(peer, tag(0, kind), Payload.of(bytes))
            .engine(engine)
            .advanced(a -> a.matching(Op.Policy.TAG));
    return new MonoOp<>(outbox, send, OpResult.NOTHING);
  }

  /** The next one of any rank. */
  Mono<Message> receiveAny(Kind kind) {
    Op receive = Op.receive(Op.ANY_SOURCE, tag(0, kind), kind.maxBytes).engine(engine);
    return new MonoOp<>(outbox, receive, OpResult.MESSAGE);
  }

  private static long tag(long number, Kind kind) {
    return (number << 2 | kind.bits) & Op.MAX_TAG;
  }
}
