/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.memory.MemoryRegionImpl;
import io.lci.internal.memory.Regions;
import io.lci.internal.post.EngineImpl;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.matching.EngineOptions;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * Brings bytes of every rank to every rank, by sends on an engine of the runtime's own. The tag is
 * the number of the exchange.
 */
final class Exchange {
  /** The last number there is: the program's engines end before it. */
  private static final int ENGINE = 255;

  private final CoreRuntime core;
  private final Outbox outbox;
  private final Regions regions;
  private final EngineImpl engine;
  private final AtomicLong next = new AtomicLong();

  Exchange(CoreRuntime core, Outbox outbox, Regions regions) {
    this.core = core;
    this.outbox = outbox;
    this.regions = regions;
    this.engine = EngineImpl.create(core, ENGINE, EngineOptions.defaults());
  }

  /** Takes part once per subscription, also when the subscriber leaves. */
  Mono<byte[][]> of(byte[] mine) {
    if (mine.length > LciRuntime.MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + LciRuntime.MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    byte[] given = mine.clone();
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super byte[][]> actual) {
        Waiter waiter = new Waiter(outbox.loop, actual);
        waiter.begin();
        begin(given, next.getAndIncrement() & Op.MAX_TAG)
            .subscribe(waiter::arrived, waiter::failed);
      }
    };
  }

  /** Handles of memory, which is opened. */
  Mono<List<RemoteMemory>> of(MemoryRegion mine) {
    if (!(mine instanceof MemoryRegionImpl region && region.core() == core)) {
      throw new IllegalArgumentException("not a region of this runtime: " + mine);
    }
    return of(mine.handle()).map(this::open);
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

  private Mono<byte[][]> begin(byte[] mine, long number) {
    byte[][] all = new byte[core.size][];
    all[core.rank] = mine.clone(); // the caller may write into what he gets
    List<Mono<?>> parts = new ArrayList<>();
    for (int rank = 0; rank < all.length; rank++) {
      if (rank != core.rank) {
        int peer = rank;
        Mono<Message> received =
            message(Op.receive(peer, number, LciRuntime.MAX_EXCHANGE), OpResult.MESSAGE);
        parts.add(received.doOnNext(m -> all[peer] = m.toByteArray()));
        parts.add(message(Op.send(peer, number, Payload.of(mine)), OpResult.NOTHING));
      }
    }
    return Mono.when(parts).thenReturn(all);
  }

  private <T> Mono<T> message(Op op, OpResult result) {
    return new MonoOp<>(outbox, op.engine(engine), result);
  }

  /** Whoever asked for what the ranks give; they are not kept waiting for his demand. */
  private static final class Waiter extends LoopSubscription<byte[][]> {
    // Written before the loop is asked to look
    private byte @Nullable [][] result;
    private @Nullable Throwable failure;

    Waiter(EventLoop loop, CoreSubscriber<? super byte[][]> actual) {
      super(loop, actual);
    }

    void arrived(byte[][] all) {
      result = all;
      look();
    }

    void failed(Throwable reason) {
      failure = reason;
      look();
    }

    @Override
    public void drain() {
      if (isOver()) {
        return;
      }
      loop.activate(this);
      Throwable reason = failure;
      byte[][] all = result;
      if (reason != null) {
        onCancel();
        fail(reason);
      } else if (all != null && demand > 0) {
        onCancel();
        emit(all);
        complete();
      }
    }

    @Override
    public void onCancel() {
      loop.deactivate(this);
    }
  }
}
