/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.internal.collective.CallMessages.Kind;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.Awaiter;
import io.lci.internal.loop.Countdown;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Fences;
import io.lci.internal.post.Outbox;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * When nothing is under way between any ranks that was posted before they called. Each rank drains
 * itself first. All that it had sent to another rank is in the rings to that rank then, so it tells
 * the rank how far it has written to each of them. A rank that has read as far has got everything,
 * and tells that to all. Any thread.
 */
final class DrainedEverywhere {
  private static final byte[] NOTHING = {};
  private static final long[] NOTHING_WRITTEN = {};
  private static final Duration A_MOMENT = Duration.ofMillis(1);

  private final CoreRuntime core;
  private final EventLoop home;
  private final PerLoop<Outbox> outboxes;
  private final CallMessages messages;
  private final Fences fences;
  private final AtomicLong next = new AtomicLong();

  DrainedEverywhere(
      CoreRuntime core, PerLoop<Outbox> outboxes, CallMessages messages, Fences fences) {
    this.core = core;
    this.home = outboxes.get(0).loop;
    this.outboxes = outboxes;
    this.messages = messages;
    this.fences = fences;
  }

  /** Takes part once per subscription, also when the subscriber leaves. */
  Mono<List<PeerEvent>> call() {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super List<PeerEvent>> actual) {
        Awaiter<List<PeerEvent>> waiter = new Awaiter<>(home, actual);
        waiter.begin();
        new Call(next.getAndIncrement()).begin().subscribe(waiter::arrived, waiter::failed);
      }
    };
  }

  private final class Call {
    private final long number;
    private final Absent absent = new Absent(core.size);

    /** Those that this rank has now: on a loop that is added later, nothing was posted before. */
    private final List<Outbox> posting = outboxes.all();

    /** How far this rank has written, and other ranks to this one; by rank and device. */
    private final long[][] sent = new long[core.size][devices(posting)];

    private final long[][] written = new long[core.size][];

    Call(long number) {
      this.number = number;
    }

    Mono<List<PeerEvent>> begin() {
      return fences
          .passed(posting, this::noteSent)
          .then(Mono.defer(this::tellPositions))
          .then(Mono.defer(this::awaitArrivals))
          .then(Mono.defer(this::tellDelivered))
          .then(Mono.fromSupplier(absent::list));
    }

    /** On each loop, of its own devices. */
    private void noteSent(Outbox outbox) {
      Lane lane = outbox.lane;
      for (int device = 0; device < lane.deviceCount(); device++) {
        for (int rank = 0; rank < core.size; rank++) {
          sent[rank][lane.firstDevice() + device] = lane.sent(device, rank);
        }
      }
    }

    private Mono<Void> tellPositions() {
      Arrays.fill(written, NOTHING_WRITTEN);
      written[core.rank] = sent[core.rank];
      return swap(Kind.POSITIONS, rank -> bytes(sent[rank]), m -> written[m.rank()] = positions(m));
    }

    private Mono<Void> tellDelivered() {
      return swap(Kind.DELIVERED, rank -> NOTHING, m -> {});
    }

    /** Tells every rank something, and hears it of every one, but of those that are gone. */
    private Mono<Void> swap(Kind kind, IntFunction<byte[]> mine, Consumer<? super Message> theirs) {
      List<Mono<?>> parts = new ArrayList<>();
      for (int rank = 0; rank < core.size; rank++) {
        if (rank != core.rank && !absent.has(rank)) {
          int peer = rank;
          parts.add(
              messages
                  .receive(peer, number, kind)
                  .doOnNext(theirs)
                  .onErrorResume(e -> absent.addIfGone(peer, e), e -> Mono.empty()));
          parts.add(
              messages
                  .send(peer, number, kind, mine.apply(peer))
                  .onErrorResume(DrainedEverywhere::saysGone, e -> Mono.empty()));
        }
      }
      return Mono.when(parts);
    }

    private Mono<Void> awaitArrivals() {
      List<Outbox> receiving = outboxes.all();
      if (isWrittenBeyond(devices(receiving))) {
        return Mono.delay(A_MOMENT).then(Mono.defer(this::awaitArrivals));
      }
      return Mono.create(
          sink -> {
            Countdown all = new Countdown(receiving.size(), sink);
            for (Outbox outbox : receiving) {
              outbox.loop.execute(new Look(outbox, this, all));
            }
          });
    }

    /** Whether peers have written to a device whose loop is just being added. */
    private boolean isWrittenBeyond(int devices) {
      return Arrays.stream(written)
          .flatMapToLong(positions -> Arrays.stream(positions).skip(devices))
          .anyMatch(position -> position >= 0);
    }
  }

  /** How many devices the loops serve. */
  private static int devices(List<Outbox> loops) {
    Lane last = loops.get(loops.size() - 1).lane;
    return last.firstDevice() + last.deviceCount();
  }

  /** Looks for what comes over the devices of a loop. */
  private record Look(Outbox outbox, Call call, Countdown all) implements LoopTask {
    @Override
    public void run() {
      outbox.loop.watch(new Arrivals(outbox, call.written, call.absent, all::ended));
    }

    @Override
    public void rejected() {
      all.ended(outbox.loop.closed("drained everywhere"));
    }
  }

  /** The rank may have told all before: the receive from it decides. It closes its engine first. */
  private static boolean saysGone(Throwable ofSend) {
    return ofSend instanceof PeerLeftException
        || ofSend instanceof PeerFailedException
        || ofSend instanceof PortClosedException;
  }

  private static byte[] bytes(long[] positions) {
    ByteBuffer bytes = ByteBuffer.allocate(positions.length * Long.BYTES);
    bytes.asLongBuffer().put(positions);
    return bytes.array();
  }

  private static long[] positions(Message message) {
    byte[] bytes = message.toByteArray();
    long[] positions = new long[bytes.length / Long.BYTES];
    ByteBuffer.wrap(bytes).asLongBuffer().get(positions);
    return positions;
  }
}
