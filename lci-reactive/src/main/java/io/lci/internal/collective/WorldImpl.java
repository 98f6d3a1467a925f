/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Group;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.post.Outbox;
import java.util.Objects;
import reactor.core.publisher.Mono;

/** All ranks of the job. Any thread. */
public final class WorldImpl implements Group {
  private static final byte[] NOTHING = {};

  private final CoreRuntime core;
  private final Exchange exchange;

  /**
   * @param outbox of loop 0, which signals
   */
  public WorldImpl(CoreRuntime core, Outbox outbox) {
    this.core = core;
    this.exchange = new Exchange(core, outbox);
  }

  @Override
  public int rank() {
    return core.rank;
  }

  @Override
  public int size() {
    return core.size;
  }

  @Override
  public Mono<Void> barrier() {
    return exchange.of(NOTHING, Exchange.Kind.BARRIER).then();
  }

  @Override
  public Mono<byte[][]> exchange(byte[] mine) {
    Objects.requireNonNull(mine, "mine");
    if (mine.length > MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    return exchange.of(mine, Exchange.Kind.BYTES);
  }

  @Override
  public String toString() {
    return "Group[world, rank " + core.rank + " of " + core.size + ']';
  }
}
