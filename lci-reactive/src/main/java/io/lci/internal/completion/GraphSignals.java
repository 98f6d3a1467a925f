/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** The ends of operations that a node waits for, or that wait for its next run. Loop only. */
final class GraphSignals {
  private final EventLoop loop;
  private final ArrayDeque<Completion> ends = new ArrayDeque<>();

  /** The run under way: it has come to the node, and has no end yet. */
  private @Nullable Wait waiting;

  private boolean closed;

  GraphSignals(EventLoop loop) {
    this.loop = loop;
  }

  void add(Completion end) {
    if (closed) {
      return;
    }
    ends.add(end);
    if (waiting != null) {
      waiting.schedule();
    }
  }

  /** Takes nothing any more. */
  void close() {
    closed = true;
    ends.clear();
  }

  /** The next end, for one run. */
  Mono<Completion> next() {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Completion> actual) {
        actual.onSubscribe(new Wait(actual));
      }
    };
  }

  private final class Wait extends LoopSubscription<Completion> {
    Wait(CoreSubscriber<? super Completion> actual) {
      super(GraphSignals.this.loop, actual);
    }

    @Override
    public void drain() {
      if (isOver() || demand == 0) {
        return;
      }
      Completion end = ends.poll();
      if (end == null) {
        waiting = this;
        return;
      }
      leave();
      LciException error = end.error();
      if (error != null) {
        fail(error);
      } else {
        emit(end);
        complete();
      }
    }

    @Override
    public void onCancel() {
      leave();
    }

    private void leave() {
      if (waiting == this) {
        waiting = null;
      }
    }
  }
}
