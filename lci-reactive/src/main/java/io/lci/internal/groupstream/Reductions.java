/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.error.CollectiveFailedException;
import io.lci.internal.collective.StreamCalls;
import io.lci.internal.collective.StreamMembers;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A call for each round of a stream that is reduced, in a context of its own, so that the calls of
 * the program do not meet them. Loop only.
 */
final class Reductions implements Outlet<Chunk, Vec> {
  private final StreamMembers members;
  private final ReduceOp op;
  private final int most;
  private final ArrayDeque<Call> calls = new ArrayDeque<>();
  private long number;
  private Consumer<? super Throwable> failed = reason -> {};
  private Runnable ready = () -> {};
  private @Nullable StreamCalls context;
  private int gaveUp = Delivery.NOBODY;

  // The round
  private @Nullable Chunk first;
  private @Nullable Chunk own;

  /** One round. */
  private static final class Call {
    private final Vec result;
    private boolean done;

    Call(Vec result) {
      this.result = result;
    }
  }

  /**
   * @param most rounds that may be under way, or wait for demand
   */
  Reductions(StreamMembers members, ReduceOp op, int most) {
    this.members = members;
    this.op = op;
    this.most = most;
  }

  @Override
  public void begin(long streamNumber, Consumer<? super Throwable> whenFailed, Runnable whenReady) {
    number = streamNumber;
    failed = whenFailed;
    ready = whenReady;
  }

  @Override
  public boolean hasRoom() {
    return calls.size() < most;
  }

  @Override
  public void take(int member, Chunk chunk) {
    Chunk begun = first;
    if (begun == null) {
      first = chunk;
    } else if (!chunk.fits(begun)) {
      throw new Uneven(member, chunk + ", and member 0 " + begun);
    }
    if (chunk.own() != null) {
      own = chunk;
    }
    if (member == members.group().size() - 1) {
      first = null;
      reduce(Objects.requireNonNull(Objects.requireNonNull(own).own()));
    }
  }

  private void reduce(Vec chunk) {
    StreamCalls known = context;
    if (known == null) {
      known = members.calls(number);
      context = known;
    }
    int bytes = Math.toIntExact(chunk.bytes());
    Vec result = Vec.of(chunk.type(), ByteBuffer.allocate(bytes), 0, chunk.count());
    Mono<Void> reduced = known.allReduce(chunk, result, op);
    own = null; // it is the call's
    Call call = new Call(result);
    calls.add(call);
    reduced.subscribe(
        nothing -> {},
        this::failed,
        () -> {
          call.done = true;
          ready.run();
        });
  }

  /** A member that gives up tells all why, by a message of the stream, unless it has left. */
  private void failed(Throwable reason) {
    int self = members.group().worldRank(members.group().rank());
    if (reason instanceof CollectiveFailedException e && e.rank() != self) {
      gaveUp = e.rank();
      ready.run();
    } else {
      failed.accept(reason);
    }
  }

  @Override
  public int gaveUp() {
    return gaveUp;
  }

  @Override
  public @Nullable Vec poll() {
    Call next = calls.peek();
    if (next == null || !next.done) {
      return null;
    }
    calls.remove();
    return next.result;
  }

  @Override
  public boolean isEmpty() {
    return calls.isEmpty();
  }

  @Override
  public void end(boolean well, Consumer<? super Chunk> discard) {
    Chunk unused = own;
    if (unused != null) {
      own = null;
      discard.accept(unused);
    }
    StreamCalls known = context;
    if (known != null) {
      if (!well) {
        known.giveUp(); // others may never make the calls of it
      }
      known.dispose();
    }
  }
}
