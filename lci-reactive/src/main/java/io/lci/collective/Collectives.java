/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import reactor.core.publisher.Mono;

/**
 * Calls that all members of a group make together. A {@link Group} has them, and each {@link
 * CollectiveContext} of it, independently of each other. Any thread.
 *
 * <p><b>Order.</b> Each subscription is one call. It takes its number when its first request comes
 * to the loop, and all members must make the same calls in the same order: the program makes them
 * on one thread, or one {@code then} the other. Calls of different groups or contexts may come in
 * any order. A call that one member never makes does not end on the others.
 *
 * <p><b>Cancel.</b> A cancel, also by {@code timeout}, detaches the subscriber; this member still
 * takes part. Before the first request nothing has begun.
 *
 * <p><b>Errors.</b> A call ends on every member that has not completed it if one calls something
 * else ({@link io.lci.error.CollectiveMismatchException}), revokes the context ({@link
 * io.lci.error.CollectiveFailedException}) or dies ({@link io.lci.error.PeerFailedException}). If a
 * member leaves, the calls end that it has not made ({@link io.lci.error.PeerLeftException}). All
 * later calls fail with the same; not every member needs to see it, for some may have completed the
 * call before.
 *
 * @since 0.1
 */
public interface Collectives {
  /**
   * Completes when every member has made this call.
   *
   * @return one call per subscription, at its first request; completes on the loop that serves the
   *     device; waits while this member is too far ahead of another one: 64 calls under way, or
   *     about 15 that a member has not made yet; errors as above, and {@link
   *     io.lci.error.LciClosedException} when the runtime closes, or of a call that comes after
   *     {@code dispose}
   */
  Mono<Void> barrier();
}
