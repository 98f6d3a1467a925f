/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.GraphResult;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.post.Outbox;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** One subscription of a graph: one run, whose host nodes it runs. Loop only. */
final class GraphRun extends LoopSubscription<GraphResult> {
  private final Outbox outbox;

  /** A host node that the core has recorded. */
  private record Due(GraphNode<?> node, long context) {}

  /** The number that the program gave; null: the last one plus one. */
  final @Nullable Long given;

  private final GraphImpl graph;
  private final GraphValues values;
  private final ArrayDeque<Due> due = new ArrayDeque<>();
  private final Set<HostCall<?>> calls = new HashSet<>();
  private boolean started;
  private boolean ended;
  private @Nullable Throwable failure;

  /** Its graph was disposed of meanwhile. */
  private @Nullable RuntimeException gone;

  /** What the first function that failed has thrown, and its node. */
  private @Nullable Throwable thrown;

  private int thrownBy = -1;

  GraphRun(
      Outbox outbox,
      CoreSubscriber<? super GraphResult> actual,
      GraphImpl graph,
      int nodes,
      @Nullable Long given) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.graph = graph;
    this.given = given;
    this.values = new GraphValues(graph, nodes);
  }

  GraphValues values() {
    return values;
  }

  @Override
  public void drain() {
    if (!started) {
      if (demand > 0 && !isOver()) {
        start();
      }
      return;
    }
    for (Due next = due.poll(); next != null; next = due.poll()) {
      if (isOver() || thrown != null || gone != null) {
        GraphPost.failed(outbox, this, number(next.node), next.context);
      } else {
        run(next.node, next.context);
      }
    }
    if (ended && !isOver()) {
      loop.deactivate(this);
      Throwable error = failure;
      if (error != null) {
        fail(error);
      } else {
        emit(values);
        complete();
      }
    }
  }

  private void start() {
    started = true;
    try {
      graph.begin(this);
    } catch (RuntimeException e) {
      fail(e);
      return;
    }
    loop.activate(this);
  }

  private static int number(GraphNode<?> node) {
    return node.index + GraphNode.FIRST;
  }

  /** A HOST_NODE record. */
  void fire(GraphNode<?> node, long context) {
    due.add(new Due(node, context));
    schedule();
  }

  private <T> void run(GraphNode<T> node, long context) {
    try {
      if (node.call != null) {
        values.set(node.index, node.call.apply(values));
        GraphPost.done(outbox, this, number(node), context);
        return;
      }
      Mono<? extends T> mono =
          java.util.Objects.requireNonNull(
              java.util.Objects.requireNonNull(node.mono).apply(values), "the Mono is null");
      HostCall<T> call = new HostCall<>(node, context);
      calls.add(call);
      subscribe(mono, call);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      failed(node, context, e);
    }
  }

  /** If that throws, the call is none, and its node is answered by the caller. */
  private <T> void subscribe(Mono<? extends T> mono, HostCall<T> call) {
    boolean subscribed = false;
    try {
      mono.subscribe(call);
      subscribed = true;
    } finally {
      if (!subscribed) {
        calls.remove(call);
      }
    }
  }

  private void failed(GraphNode<?> node, long context, Throwable reason) {
    if (thrown == null) {
      thrown = reason;
      thrownBy = number(node);
    }
    GraphPost.failed(outbox, this, number(node), context);
  }

  /** The core did not start the run. */
  void refused(RuntimeException reason) {
    graph.over(this);
    failure = reason;
    ended = true;
    schedule();
  }

  /** The GRAPH record. {@code reason} is what the core says; a function's own failure says more. */
  void end(int failedNode, @Nullable RuntimeException reason) {
    failure = reason != null && thrown != null && failedNode == thrownBy ? thrown : reason;
    if (failure != null && gone != null) {
      failure = gone;
    }
    ended = true;
    schedule();
  }

  /** The graph was disposed of: as by a cancel, but the subscriber is told. */
  void graphIsGone(RuntimeException reason) {
    gone = reason;
    stop();
  }

  @Override
  public void onCancel() {
    loop.deactivate(this);
    stop();
  }

  private void stop() {
    for (HostCall<?> call : Set.copyOf(calls)) {
      loop.guarded(call::dispose);
      GraphPost.failed(outbox, this, number(call.node), call.context);
    }
    calls.clear();
    if (started && !ended) {
      graph.cancel(this);
    }
    schedule(); // what is due is to be answered
  }

  /** Waits for the Mono of a node; it may signal on any thread. */
  private final class HostCall<T> implements CoreSubscriber<T> {
    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<HostCall, Subscription> UPSTREAM =
        AtomicReferenceFieldUpdater.newUpdater(HostCall.class, Subscription.class, "upstream");

    private final GraphNode<? super T> node;
    private final long context;
    private volatile @Nullable Subscription upstream;
    private volatile @Nullable T value;

    HostCall(GraphNode<? super T> node, long context) {
      this.node = node;
      this.context = context;
    }

    /** That of the run's subscriber: traces and the like find their way by it. */
    @Override
    public Context currentContext() {
      return actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription s) {
      if (s == null) {
        throw broughtNull("subscription");
      }
      if (Operators.setOnce(UPSTREAM, this, s)) {
        s.request(Long.MAX_VALUE);
      }
    }

    @Override
    public void onNext(T item) {
      if (item == null) {
        throw broughtNull("item");
      }
      value = item;
    }

    @Override
    public void onComplete() {
      if (isFirstEnd()) {
        ended(
            () -> {
              values.set(node.index, value);
              GraphPost.done(outbox, GraphRun.this, number(node), context);
            });
      }
    }

    @Override
    public void onError(Throwable reason) {
      if (reason == null) {
        throw broughtNull("error");
      }
      if (isFirstEnd()) {
        ended(() -> failed(node, context, reason));
      } else {
        Operators.onErrorDropped(reason, currentContext());
      }
    }

    private boolean isFirstEnd() {
      Subscription none = Operators.cancelledSubscription();
      return UPSTREAM.getAndSet(this, none) != none;
    }

    private void ended(Runnable answer) {
      loop.execute(
          () -> {
            if (calls.remove(this)) {
              answer.run();
            }
          });
    }

    /** For the Mono, which hears of it as the node does (Reactive Streams 2.13). */
    private NullPointerException broughtNull(String signal) {
      NullPointerException error =
          new NullPointerException("the Mono of a node brought null as its " + signal);
      dispose();
      ended(() -> failed(node, context, error));
      return error;
    }

    void dispose() {
      Operators.terminate(UPSTREAM, this);
    }
  }
}
