/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciOptions;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.internal.ScriptedCore.Submitted;
import io.lci.internal.memory.RemoteMemoryImpl;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Operations of a runtime whose core and clock the test decides. */
final class Operations implements AutoCloseable {
  static final Port PORT = Port.of(6, "operations");
  static final int PEER = 1;
  private static final int REGION = 64;

  /** A kind of operation. */
  enum Kind {
    AM,
    SEND,
    PUT,
    SIGNALLING_PUT,
    GET,
    ATOMIC,
    RECEIVE,
    BARRIER
  }

  /** How it is posted. */
  enum How {
    MONO,
    BULK
  }

  final ScriptedCore core = new ScriptedCore();
  final VirtualTimeScheduler clock = VirtualTimeScheduler.create();
  final RuntimeImpl runtime;

  /** Posted and not ended, by context: the kind of operation. */
  final Map<Long, Integer> posted = new LinkedHashMap<>();

  private final RemoteMemoryImpl remote;

  /** Whose deadlines pass by {@link #clock}. */
  Operations() {
    this(null);
  }

  /**
   * @param timer what deadlines pass by; null: {@link #clock}
   */
  Operations(@Nullable Scheduler timer) {
    runtime =
        new RuntimeImpl(
            core.calls,
            core.layout,
            1,
            LciOptions.builder()
                .invoker(true)
                .closeTimeout(Duration.ZERO)
                .timer(timer == null ? clock : timer)
                .build());
    remote = new RemoteMemoryImpl(runtime.core, runtime.loops.outboxes.get(0), PEER, 5, REGION);
  }

  /** Each may be posted: a short message is signalled when its receiver has taken it. */
  Op op(Kind kind, long number) {
    return switch (kind) {
      case AM ->
          Op.am(PEER, PORT, Payload.ofLong(number)).advanced(a -> a.semantic(Op.Semantic.NETWORK));
      case SEND ->
          Op.send(PEER, 1, Payload.ofLong(number)).advanced(a -> a.semantic(Op.Semantic.NETWORK));
      case PUT -> Op.put(remote, 0, Payload.ofLong(number));
      case SIGNALLING_PUT -> Op.put(remote, 0, Payload.ofLong(number)).signal(PORT, 1);
      case GET -> Op.get(remote, 0, Long.BYTES);
      case ATOMIC -> Op.getAndAdd(remote, 0, number);
      case RECEIVE -> Op.receive(PEER, 1, Long.BYTES);
      case BARRIER -> Op.barrier();
    };
  }

  Publisher<?> publisher(How how, Op op, PostOptions options) {
    return how == How.MONO
        ? runtime.post(op)
        : runtime.post(Flux.range(0, 1).map(i -> op), options);
  }

  /**
   * Not in what JUnit runs before a test: that has a thread of its own, which drives the loop then.
   */
  void turns(int count) {
    for (int i = 0; i < count; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  /** From now on every operation is answered so; cancels are done. */
  void answer(int code) {
    core.script = submitted -> remembered(submitted, code);
  }

  /** The answer to one; what is posted is remembered. */
  int remembered(Submitted submitted, int code) {
    if (submitted.op() == Codes.OP_CANCEL) {
      return Codes.DONE;
    }
    if (code == Codes.POSTED) {
      posted.put(submitted.context(), submitted.op());
    }
    return code;
  }

  /** Ends what was posted. */
  void endAll(int code) {
    signalAll(code);
    turns(3);
  }

  void signalAll(int code) {
    posted.keySet().forEach(context -> core.ended(context, code, PEER));
    posted.clear();
  }

  int parked() {
    return runtime.loops.outboxes.get(0).parkedCount();
  }

  int inSlots() {
    return runtime.loops.outboxes.get(0).slots.size();
  }

  @Override
  public void close() {
    runtime.close();
  }
}
