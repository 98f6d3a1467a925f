/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import reactor.core.publisher.Mono;

/**
 * The group of all ranks of the job, in their order. It ends with its runtime: {@code dispose} does
 * nothing. {@link io.lci.LciRuntime#barrier()} has numbers of its own and takes no part in its
 * order of calls.
 *
 * @since 0.1
 */
public interface World extends Group {
  /** Most bytes that one rank gives to an {@link #exchange}. */
  int MAX_EXCHANGE = 65_536;

  /**
   * Gives bytes to every rank and gets theirs: handles of regions, addresses, settings. Exchanges
   * have numbers of their own, in the order of their subscriptions.
   *
   * @param mine at most {@value #MAX_EXCHANGE} bytes, copied; they may differ in length from rank
   *     to rank
   * @return takes part at subscription, whatever the demand, and waits for credit of the other
   *     ranks as any send does; emits the bytes by rank on loop 0, in arrays that belong to the
   *     subscriber; cancel detaches the subscriber, this rank still takes part; ends with {@link
   *     io.lci.error.PeerFailedException} or {@link io.lci.error.PeerLeftException} if a rank is
   *     gone, and with {@link io.lci.error.LciClosedException} when the runtime closes
   */
  Mono<byte[][]> exchange(byte[] mine);
}
