/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.Disposable;
import reactor.core.Disposables;

/**
 * The completion objects of a runtime: makes them, binds ports to them, and looks at those whose
 * signals bring no record to a lane. Any thread.
 */
final class CompletionObjects {
  private final RuntimeImpl runtime;
  private final Set<CounterImpl> counters = ConcurrentHashMap.newKeySet();
  private final Set<QueueImpl> queues = ConcurrentHashMap.newKeySet();

  CompletionObjects(RuntimeImpl runtime) {
    this.runtime = runtime;
  }

  Synchronizer synchronizer(int threshold) {
    runtime.shutdown.refuse("create synchronizer");
    EventLoop home = runtime.loop(0);
    SynchronizerImpl synchronizer = SynchronizerImpl.create(home, threshold);
    home.dispatcher().attach(synchronizer);
    return synchronizer;
  }

  Counter counter() {
    runtime.shutdown.refuse("create counter");
    NativeScratch out = new NativeScratch(1);
    runtime.core.ask(
        "create counter",
        LciException.NONE,
        () -> runtime.calls.counterCreate(runtime.handle, out.address(0)));
    CounterImpl counter = new CounterImpl(runtime, out.getLong(0));
    counters.add(counter);
    return counter;
  }

  CompletionQueue queue(QueueOptions options) {
    runtime.shutdown.refuse("create queue");
    QueueImpl queue = QueueImpl.create(runtime, options);
    queues.add(queue);
    return queue;
  }

  Disposable bind(Port port, CompletionTarget target) {
    NativeTarget comp = NativeTarget.of(runtime, target);
    ByteBuffer name = NativeMemory.cString(port.name());
    String operation = "bind port " + port;
    runtime.core.ask(
        operation,
        LciException.NONE,
        () -> {
          if (comp.isDisposed()) { // its handle may lead to memory that was freed
            throw runtime.shutdown.gone(operation, "completion object", "bind one that is in use");
          }
          return runtime.calls.portOpen(
              runtime.handle,
              port.number(),
              NativeMemory.address(name),
              comp.handle(),
              InboxOptions.DEFAULT_MESSAGES,
              InboxOptions.DEFAULT_BYTES);
        });
    Reference.reachabilityFence(name);
    return Disposables.composite(
        () ->
            runtime.core.with(
                () -> runtime.calls.portClose(runtime.handle, port.number()), Codes.DONE));
  }

  /** After an enter: counters may have moved, queues may have been filled. */
  void look() {
    if (!counters.isEmpty()) {
      counters.forEach(CounterImpl::look);
    }
    if (!queues.isEmpty()) {
      queues.forEach(QueueImpl::look);
    }
  }

  void forget(CounterImpl counter) {
    counters.remove(counter);
  }

  void forget(QueueImpl queue) {
    queues.remove(queue);
  }
}
