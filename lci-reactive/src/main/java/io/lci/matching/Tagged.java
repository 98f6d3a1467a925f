/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import io.lci.am.Message;
import io.lci.am.Payload;
import reactor.core.publisher.Mono;

/**
 * Messages that a rank sends with a tag, and that the destination takes by naming rank and tag.
 * Made by {@link io.lci.LciRuntime#tagged()}. Any thread.
 *
 * <p>A send meets receives alone: it never comes to an {@linkplain io.lci.LciRuntime#inbox inbox},
 * which gets the messages of {@linkplain io.lci.LciRuntime#sender senders}.
 *
 * @since 0.1
 */
public interface Tagged {
  /**
   * Matched send: {@link io.lci.LciRuntime#post(io.lci.Op)} of {@link io.lci.Op#send}. It needs
   * credit of the destination's matching engine, and waits for that.
   *
   * @param rank destination
   * @param tag 0 to {@link io.lci.Op#MAX_TAG}
   * @param payload the bytes to send
   * @return posts at the first request; completes on loop 0 when the sender no longer needs the
   *     payload, which does not mean that a receiver has it; cancel removes the send if it was not
   *     yet accepted. Uses the payload as {@link io.lci.LciRuntime#post(io.lci.Op)} and fails as
   *     that, with {@link io.lci.error.PeerFailedException}, {@link
   *     io.lci.error.PeerLeftException}, {@link io.lci.error.PortClosedException} (the engine was
   *     disposed of there), {@link io.lci.error.ResourceExhaustedException} or {@link
   *     io.lci.error.LciClosedException}
   */
  Mono<Void> send(int rank, long tag, Payload payload);

  /**
   * Matched receive of a message of at most {@link io.lci.LciOptions#maxReceiveBytes()} bytes.
   *
   * @param rank source, or {@link io.lci.Op#ANY_SOURCE}
   * @param tag tag, or {@link io.lci.Op#ANY_TAG}
   * @return as {@link #receive(int, long, int)}
   */
  Mono<Message> receive(int rank, long tag);

  /**
   * Matched receive. Each subscription is one receive, and waits until a message matches it. A
   * receive from any source does not end when a peer does.
   *
   * @param rank source, or {@link io.lci.Op#ANY_SOURCE}
   * @param tag tag, or {@link io.lci.Op#ANY_TAG}
   * @param maxBytes longest message; a longer one ends in {@link io.lci.error.TruncatedException},
   *     which tells its size. Memory beyond {@link io.lci.LciRuntime#maxEager()} bytes is taken
   *     when a message matches, as much as it needs; without any the receive ends in {@link
   *     io.lci.error.ResourceExhaustedException}
   * @return posts at the first request; emits the message, a copy, on loop 0; cancel takes the
   *     unmatched receive back, and a message that matched meanwhile goes to {@code doOnDiscard}.
   *     Fails as {@link io.lci.LciRuntime#post(io.lci.Op)}
   */
  Mono<Message> receive(int rank, long tag, int maxBytes);

  /**
   * Creates a matching engine on this rank: a separate domain of sends and receives.
   *
   * @param number 1 to {@value MatchingEngine#MAX_NUMBER}, the same on every rank
   * @param options how it matches; all ranks must agree on whether the keys are the program's own
   * @return the engine
   * @throws io.lci.error.LciException if the number is in use
   */
  MatchingEngine engine(int number, EngineOptions options);
}
