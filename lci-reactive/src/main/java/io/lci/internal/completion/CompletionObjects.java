/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.NativeTarget;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.PerLoop;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import reactor.core.Disposable;
import reactor.core.Disposables;

/**
 * The completion objects of a runtime: makes them, binds ports to them, and looks at those whose
 * signals bring no record to a lane. Any thread.
 */
public final class CompletionObjects {
  /** Most that one look frees: it holds up whoever calls the core. */
  private static final int FREE_BUDGET = 256;

  private final CoreRuntime core;
  private final PerLoop<EventLoop> loops;
  private final Dispatcher dispatcher;
  private final Set<CounterImpl> counters = ConcurrentHashMap.newKeySet();
  private final Set<QueueImpl> queues = ConcurrentHashMap.newKeySet();

  /** Disposed while a port or a pending operation leads to them. */
  private final Queue<CompletionObject> unfreed = new ConcurrentLinkedQueue<>();

  public CompletionObjects(CoreRuntime core, PerLoop<EventLoop> loops, Dispatcher dispatcher) {
    this.core = core;
    this.loops = loops;
    this.dispatcher = dispatcher;
  }

  public Synchronizer synchronizer(int threshold) {
    core.ending.refuse("create synchronizer");
    SynchronizerImpl synchronizer = SynchronizerImpl.create(this, dispatcher, threshold);
    dispatcher.attach(synchronizer);
    return synchronizer;
  }

  public Counter counter() {
    core.ending.refuse("create counter");
    NativeScratch out = new NativeScratch(1);
    core.gate.ask(
        "create counter",
        LciException.NONE,
        () -> core.calls.counterCreate(core.handle, out.address(0)));
    CounterImpl counter = new CounterImpl(this, loops.get(0), out.getLong(0));
    counters.add(counter);
    return counter;
  }

  public CompletionQueue queue(QueueOptions options) {
    core.ending.refuse("create queue");
    QueueImpl queue = QueueImpl.create(this, loops.get(options.loop()), options);
    queues.add(queue);
    return queue;
  }

  public Disposable bind(Port port, CompletionTarget target) {
    NativeTarget comp = NativeTarget.of(core, target);
    ByteBuffer name = NativeMemory.cString(port.name());
    String operation = "bind port " + port;
    core.gate.ask(
        operation,
        LciException.NONE,
        () -> {
          if (comp.isDisposed()) { // its handle may lead to memory that was freed
            throw core.ending.gone(operation, "completion object", "bind one that is in use");
          }
          return core.calls.portOpen(
              core.handle,
              port.number(),
              NativeMemory.address(name),
              comp.handle(),
              InboxOptions.DEFAULT_MESSAGES,
              InboxOptions.DEFAULT_BYTES);
        });
    Reference.reachabilityFence(name);
    return Disposables.composite(
        () -> core.gate.with(() -> core.calls.portClose(core.handle, port.number()), Codes.DONE));
  }

  /** After an enter: counters may have moved, queues may have been filled. */
  public void look() {
    if (!counters.isEmpty()) {
      counters.forEach(CounterImpl::look);
    }
    if (!queues.isEmpty()) {
      queues.forEach(QueueImpl::look);
    }
  }

  /** The object is still in use: {@link #freeUnused()} asks again. */
  void freeLater(CompletionObject object) {
    unfreed.add(object);
  }

  /** Now and then: what was in use when it was disposed may be free of it. */
  public void freeUnused() {
    if (unfreed.isEmpty()) {
      return;
    }
    List<CompletionObject> asked = new ArrayList<>();
    while (asked.size() < FREE_BUDGET && !unfreed.isEmpty()) {
      asked.add(unfreed.remove());
    }
    core.gate.alone(() -> asked.forEach(CompletionObject::freeNative));
  }

  void forget(CounterImpl counter) {
    counters.remove(counter);
  }

  void forget(QueueImpl queue) {
    queues.remove(queue);
  }
}
