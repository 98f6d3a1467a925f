/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.collective.Group;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.post.EngineImpl;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.matching.EngineOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * Brings bytes of every rank to every rank, by sends on an engine of the runtime's own. The tag is
 * the number of the call and, in its lowest bit, the kind: a barrier never takes the bytes of an
 * exchange for its own, whatever the order of the calls.
 */
final class Exchange {
  /** The kinds of calls that are numbered together. */
  enum Kind {
    BYTES(0, Group.MAX_EXCHANGE),
    BARRIER(1, 1);

    /** The lowest bit of the tag. */
    private final int bit;

    /** Room for a message of a call. */
    private final int maxBytes;

    Kind(int bit, int maxBytes) {
      this.bit = bit;
      this.maxBytes = maxBytes;
    }
  }

  /** The last number there is: the program's engines end before it. */
  private static final int ENGINE = 255;

  private final CoreRuntime core;
  private final Outbox outbox;
  private final EngineImpl engine;
  private final AtomicLong next = new AtomicLong();

  Exchange(CoreRuntime core, Outbox outbox) {
    this.core = core;
    this.outbox = outbox;
    this.engine = EngineImpl.create(core, ENGINE, EngineOptions.defaults());
  }

  /** Takes part once per subscription, also when the subscriber leaves. */
  Mono<byte[][]> of(byte[] mine, Kind kind) {
    byte[] given = mine.clone();
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super byte[][]> actual) {
        Waiter waiter = new Waiter(outbox.loop, actual);
        waiter.begin();
        begin(given, kind).subscribe(waiter::arrived, waiter::failed);
      }
    };
  }

  private Mono<byte[][]> begin(byte[] mine, Kind kind) {
    long tag = (next.getAndIncrement() << 1 | kind.bit) & Op.MAX_TAG;
    byte[][] all = new byte[core.size][];
    all[core.rank] = mine.clone(); // the subscriber may write into it
    List<Mono<?>> parts = new ArrayList<>();
    for (int rank = 0; rank < all.length; rank++) {
      if (rank != core.rank) {
        int peer = rank;
        Mono<Message> received =
            post(Op.receive(peer, tag, kind.maxBytes).engine(engine), OpResult.MESSAGE);
        parts.add(received.doOnNext(m -> all[peer] = m.toByteArray()));
        parts.add(post(Op.send(peer, tag, Payload.of(mine)).engine(engine), OpResult.NOTHING));
      }
    }
    return Mono.when(parts).thenReturn(all);
  }

  private <T> Mono<T> post(Op op, OpResult result) {
    return new MonoOp<>(outbox, op, result);
  }

  /** The subscriber; the other ranks do not wait for its demand. */
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
