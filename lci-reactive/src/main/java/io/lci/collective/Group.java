/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import reactor.core.publisher.Mono;

/**
 * Ranks that call together: a collective call ends when every rank of the group has made it. {@link
 * io.lci.LciRuntime#world()} is the group of all ranks of the job. Any thread.
 *
 * <p><b>Order.</b> Each subscription is one call, and takes part at once, whatever its demand. The
 * calls of a group are numbered together, in the order of their subscriptions, and that order must
 * be the same on every rank. Calls of different kinds never meet: if the orders differ, they wait.
 * {@link io.lci.LciRuntime#barrier()} has numbers of its own and takes no part in this order.
 *
 * @since 0.1
 */
public interface Group {
  /** Most bytes that one rank gives to an {@link #exchange}. */
  int MAX_EXCHANGE = 65_536;

  /** {@return the number of this rank in the group, from 0} */
  int rank();

  /** {@return how many ranks the group has} Fixed. */
  int size();

  /**
   * Completes when every rank has made this call.
   *
   * @return takes part at subscription, and waits for credit of the other ranks as any send does;
   *     completes on loop 0; cancel detaches the subscriber, this rank still takes part; ends with
   *     {@link io.lci.error.PeerFailedException} or {@link io.lci.error.PeerLeftException} if a
   *     rank is gone, and with {@link io.lci.error.LciClosedException} when the runtime closes
   */
  Mono<Void> barrier();

  /**
   * Gives bytes to every rank and gets theirs: handles of regions, addresses, settings.
   *
   * @param mine at most {@value #MAX_EXCHANGE} bytes, copied; they may differ in length from rank
   *     to rank
   * @return takes part at subscription; emits the bytes by rank on loop 0, in arrays that belong to
   *     the subscriber; cancel detaches the subscriber, this rank still takes part; ends as {@link
   *     #barrier()}
   */
  Mono<byte[][]> exchange(byte[] mine);
}
