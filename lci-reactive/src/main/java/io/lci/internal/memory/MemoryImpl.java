/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.memory;

import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.UserBuffer;
import io.lci.rma.LciBuffer;
import io.lci.rma.Memory;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Regions and buffers, as users see them. Any thread. */
public final class MemoryImpl implements Memory {
  private final CoreRuntime core;
  private final Regions regions;
  private final Function<byte[], Mono<byte[][]>> exchange;

  /**
   * @param exchange brings bytes of every rank to every rank
   */
  public MemoryImpl(CoreRuntime core, Regions regions, Function<byte[], Mono<byte[][]>> exchange) {
    this.core = core;
    this.regions = regions;
    this.exchange = exchange;
  }

  @Override
  public MemoryRegion allocate(long bytes) {
    return regions.allocate(bytes);
  }

  @Override
  public MemoryRegion register(ByteBuffer direct) {
    return regions.register(Objects.requireNonNull(direct, "direct"));
  }

  @Override
  public RemoteMemory remote(int rank, byte[] handle) {
    return regions.open(rank, Objects.requireNonNull(handle, "handle"));
  }

  @Override
  public Mono<List<RemoteMemory>> exchange(MemoryRegion mine) {
    Objects.requireNonNull(mine, "mine");
    if (!(mine instanceof MemoryRegionImpl region && region.core() == core)) {
      throw new IllegalArgumentException("not a region of this runtime: " + mine);
    }
    return exchange.apply(mine.handle()).map(this::open);
  }

  /** All of them, or none. */
  private List<RemoteMemory> open(byte[][] handles) {
    List<RemoteMemory> opened = new ArrayList<>();
    try {
      for (int owner = 0; owner < handles.length; owner++) {
        opened.add(regions.open(owner, handles[owner]));
      }
      return Collections.unmodifiableList(opened);
    } catch (RuntimeException e) {
      opened.forEach(RemoteMemory::dispose);
      throw e;
    }
  }

  @Override
  public LciBuffer buffer(int bytes) {
    return new UserBuffer(core.identity, bytes);
  }

  @Override
  public LciBuffer sharedBuffer(int bytes) {
    int size = UserBuffer.checked(bytes);
    return new UserBuffer(core.identity, size, SharedMemory.allocate(core, Math.max(1, size)));
  }
}
