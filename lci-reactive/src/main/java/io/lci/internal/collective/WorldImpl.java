/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.PeerEvent;
import io.lci.collective.World;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Fences;
import io.lci.internal.post.Outbox;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/** All ranks of the job. Any thread. */
public final class WorldImpl extends GroupImpl implements World {
  private final Exchange exchange;
  private final DrainedEverywhere drained;

  /** Loop 0 signals. */
  public WorldImpl(CoreRuntime core, PerLoop<Outbox> outboxes, Fences fences, StreamRoom streams) {
    this(core, outboxes, fences, new CallMessages(core, outboxes.get(0)), streams);
  }

  private WorldImpl(
      CoreRuntime core,
      PerLoop<Outbox> outboxes,
      Fences fences,
      CallMessages messages,
      StreamRoom streams) {
    this(core, outboxes, fences, messages, new Groups(core, outboxes, messages, streams));
  }

  private WorldImpl(
      CoreRuntime core,
      PerLoop<Outbox> outboxes,
      Fences fences,
      CallMessages messages,
      Groups groups) {
    super(groups, new GroupKey(IntStream.range(0, core.size).boxed().toList(), 0));
    groups.add(this);
    this.exchange = new Exchange(core, outboxes.get(0).loop, messages);
    this.drained = new DrainedEverywhere(core, outboxes, messages, fences);
  }

  /** See {@link io.lci.LciRuntime#drainedEverywhere()}. */
  public Mono<List<PeerEvent>> drained() {
    return drained.call();
  }

  /** It ends with its runtime. */
  @Override
  public void dispose() {}

  @Override
  public Mono<byte[][]> exchange(byte[] mine) {
    Objects.requireNonNull(mine, "mine");
    if (mine.length > MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    return exchange.of(mine);
  }
}
