/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostResult;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.loop.Signals;
import java.util.Objects;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Takes operations from users, and finds the loop that posts them. Any thread. */
public final class Posting {
  private final CoreRuntime core;
  private final PerLoop<Outbox> outboxes;
  private final OpCheck check;

  public Posting(CoreRuntime core, OpCheck check, PerLoop<Outbox> outboxes) {
    this.core = core;
    this.outboxes = outboxes;
    this.check = check;
  }

  /** One operation, on the loop of its device. */
  public <T> Mono<T> one(Op op, OpResult result) {
    check.check(op);
    return new MonoOp<>(outboxes.of(op.device()), op, result);
  }

  /** An operation for each item, all on one loop. */
  public <T> Flux<PostResult<T>> each(
      Publisher<? extends T> items,
      Function<? super T, ? extends Op> operation,
      PostOptions options) {
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(operation, "operation");
    Objects.requireNonNull(options, "options");
    Outbox home = outboxes.get(options.loop());
    return Signals.on(
        options.signalOn(),
        new Flux<>() {
          @Override
          public void subscribe(CoreSubscriber<? super PostResult<T>> actual) {
            if (home.loop.isDisposed()) {
              Operators.error(actual, home.loop.closed("post operations"));
              return;
            }
            new BulkRun<T, PostResult<T>>(
                    home,
                    actual,
                    options.window(),
                    options.stopOnError(),
                    run -> new BulkPost<>(run, check, operation, options))
                .subscribeTo(items);
          }
        });
  }

  public Sender sender(Port port, SenderOptions options) {
    Objects.requireNonNull(port, "port");
    core.ending.refuse("name port " + port);
    check.tell(port);
    int chosen = options.device();
    Outbox home =
        chosen == SenderOptions.ANY_DEVICE ? outboxes.get(options.loop()) : outboxes.of(chosen);
    int device = chosen == SenderOptions.ANY_DEVICE ? home.lane.firstDevice() : chosen;
    return new SenderImpl(home, device, port, options, core.size);
  }
}
