/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.memory;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.RemoteId;
import io.lci.internal.lane.UserBuffer;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Mono;

/** A region that the core has opened; its id is checked by the core at every use. */
public final class RemoteMemoryImpl implements RemoteMemory, RemoteId {
  private final CoreRuntime core;
  private final Outbox outbox;
  private final int rank;
  private final long id;
  private final long size;
  private final AtomicBoolean disposed = new AtomicBoolean();

  public RemoteMemoryImpl(CoreRuntime core, Outbox outbox, int rank, long id, long size) {
    this.core = core;
    this.outbox = outbox;
    this.rank = rank;
    this.id = id;
    this.size = size;
  }

  @Override
  public CoreRuntime core() {
    return core;
  }

  @Override
  public long id() {
    return id;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public Mono<Void> put(long offset, Payload payload) {
    return nothing(Op.put(this, offset, payload));
  }

  @Override
  public Mono<Void> putWithSignal(long offset, Payload payload, Port port, long tag) {
    return nothing(Op.put(this, offset, payload).signal(Objects.requireNonNull(port, "port"), tag));
  }

  @Override
  public Mono<Void> get(long offset, LciBuffer target) {
    return nothing(Op.get(this, offset, target));
  }

  @Override
  public Mono<byte[]> get(long offset, int length) {
    Mono<Message> message = new MonoOp<>(outbox, Op.get(this, offset, length), OpResult.MESSAGE);
    return message.map(Message::toByteArray);
  }

  @Override
  public Mono<Void> getWithSignal(long offset, LciBuffer target, Port port, long tag) {
    return nothing(Op.get(this, offset, target).signal(Objects.requireNonNull(port, "port"), tag));
  }

  @Override
  public Mono<Long> addAndGet(long offset, long delta) {
    return before(Op.getAndAdd(this, offset, delta)).map(value -> value + delta);
  }

  @Override
  public Mono<Long> getAndSet(long offset, long value) {
    return before(Op.getAndSet(this, offset, value));
  }

  @Override
  public Mono<Boolean> compareAndSet(long offset, long expected, long value) {
    return before(Op.compareAndExchange(this, offset, expected, value))
        .map(found -> found == expected);
  }

  /** Emits the value before. */
  private Mono<Long> before(Op op) {
    Mono<Completion> ended = new MonoOp<>(outbox, op, OpResult.COMPLETION);
    return ended.map(Completion::tag);
  }

  private Mono<Void> nothing(Op op) {
    UserBuffer.check(op, core.identity);
    return new MonoOp<>(outbox, op, OpResult.NOTHING);
  }

  @Override
  public void dispose() {
    if (!disposed.getAndSet(true)) {
      core.gate.with(() -> core.calls.remoteClose(core.handle, id), Codes.DONE);
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed.get();
  }

  @Override
  public String toString() {
    return "RemoteMemory[" + size + " bytes of rank " + rank + ']';
  }
}
