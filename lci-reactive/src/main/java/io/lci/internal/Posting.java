/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Port;
import io.lci.am.SendResult;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * Takes operations from users: refuses what cannot be one of this runtime, and finds the loop that
 * posts it. Any thread.
 */
final class Posting {
  private final RuntimeImpl runtime;
  private final PortNames names;

  Posting(RuntimeImpl runtime) {
    this.runtime = runtime;
    this.names = new PortNames(runtime);
  }

  /** One operation, on the loop of its device. */
  <T> Mono<T> one(Op op, OpRun.Result result) {
    check(op);
    return new MonoOp<>(runtime.loops.of(op.device()), op, result);
  }

  /** An operation for each item, all on one loop. */
  <T> Flux<SendResult<T>> each(
      Publisher<? extends T> items, Function<? super T, Op> operation, PostOptions options) {
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(operation, "operation");
    Objects.requireNonNull(options, "options");
    EventLoop home = runtime.loop(options.loop());
    return Signals.on(
        options.signalOn(),
        new Flux<>() {
          @Override
          public void subscribe(CoreSubscriber<? super SendResult<T>> actual) {
            if (home.isDisposed()) {
              Operators.error(actual, home.closed("post operations"));
              return;
            }
            new BulkPost<T>(home, actual, operation, options).subscribeTo(items);
          }
        });
  }

  Sender sender(Port port, SenderOptions options) {
    Objects.requireNonNull(port, "port");
    runtime.shutdown.refuse("name port " + port);
    names.tell(port);
    int chosen = options.device();
    EventLoop home =
        chosen == SenderOptions.ANY_DEVICE
            ? runtime.loop(options.loop())
            : runtime.loops.of(chosen);
    int device = chosen == SenderOptions.ANY_DEVICE ? home.firstDevice() : chosen;
    return new SenderImpl(home, device, port, options, runtime.size());
  }

  /** Throws if the operation cannot be one of this runtime. */
  void check(Op op) {
    checkOwn(Objects.requireNonNull(op, "op"));
    if (op.kind() != Op.Kind.BARRIER && op.rank() != Op.ANY_SOURCE) {
      runtime.checkRank(op.rank());
    }
    if (op.port() != null) {
      names.tell(op.port());
    }
    if (op.replyTo() != null) {
      runtime.replyRooms.id(op.replyTo());
    }
  }

  /** Ids of another runtime's regions mean nothing here, or something else. */
  private void checkOwn(Op op) {
    checkOwn(op.remote());
    if (op.places() != null) {
      op.places().forEach(place -> checkOwn(place.memory()));
    }
    checkMemory(op);
    if (op.engine() != null && !(op.engine() instanceof EngineImpl e && e.runtime() == runtime)) {
      throw new IllegalArgumentException("another runtime made " + op.engine());
    }
    if (op.target() != null) {
      NativeTarget.of(runtime, op.target());
    }
  }

  private void checkOwn(@Nullable RemoteMemory remote) {
    if (remote != null
        && !(remote instanceof RemoteMemoryImpl memory && memory.runtime() == runtime)) {
      throw new IllegalArgumentException("another runtime opened " + remote);
    }
  }

  /** Throws if the operation would use memory of another runtime. */
  void checkMemory(Op op) {
    if (op.buffer() != null) {
      checkBuffer(op.buffer());
    }
    if (op.buffers() != null) {
      op.buffers().parts().forEach(this::checkBuffer);
    }
    if (op.payload() instanceof BufferList list) {
      list.parts().forEach(this::checkBuffer);
    } else if (op.payload() instanceof UserBuffer user) { // others are copied
      checkBuffer(user);
    }
  }

  private void checkBuffer(LciBuffer buffer) {
    if (!(buffer instanceof UserBuffer user)) {
      throw new IllegalArgumentException("not a buffer of LciRuntime.buffer(): " + buffer);
    }
    if (!user.isOf(runtime.identity)) {
      throw new IllegalArgumentException("another runtime made " + buffer);
    }
  }
}
