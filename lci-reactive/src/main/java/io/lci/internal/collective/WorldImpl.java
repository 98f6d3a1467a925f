/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.PeerEvent;
import io.lci.collective.Group;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Fences;
import io.lci.internal.post.Outbox;
import java.util.List;
import java.util.Objects;
import reactor.core.publisher.Mono;

/** All ranks of the job. Any thread. */
public final class WorldImpl implements Group {
  private static final byte[] NOTHING = {};

  private final CoreRuntime core;
  private final Exchange exchange;
  private final DrainedEverywhere drained;

  /** Loop 0 signals. */
  public WorldImpl(CoreRuntime core, PerLoop<Outbox> outboxes, Fences fences) {
    Outbox first = outboxes.get(0);
    CallMessages messages = new CallMessages(core, first);
    this.core = core;
    this.exchange = new Exchange(core, first.loop, messages);
    this.drained = new DrainedEverywhere(core, outboxes, messages, fences);
  }

  /** See {@link io.lci.LciRuntime#drainedEverywhere()}. */
  public Mono<List<PeerEvent>> drained() {
    return drained.call();
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
    return exchange.of(NOTHING, CallMessages.Kind.BARRIER).then();
  }

  @Override
  public Mono<byte[][]> exchange(byte[] mine) {
    Objects.requireNonNull(mine, "mine");
    if (mine.length > MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    return exchange.of(mine, CallMessages.Kind.BYTES);
  }

  @Override
  public String toString() {
    return "Group[world, rank " + core.rank + " of " + core.size + ']';
  }
}
