/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.am.Port;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Completions;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.Outbox;
import java.util.Objects;
import reactor.core.Disposable;

/** Completion objects and graphs, as users see them. Any thread. */
public final class CompletionsImpl implements Completions {
  private final CoreRuntime core;
  private final CompletionObjects objects;
  private final Outbox outbox;
  private final Dispatcher dispatcher;
  private final OpCheck check;

  /**
   * @param outbox of loop 0, which posts what graphs post
   * @param dispatcher of the same loop
   */
  public CompletionsImpl(
      CoreRuntime core,
      CompletionObjects objects,
      Outbox outbox,
      Dispatcher dispatcher,
      OpCheck check) {
    this.core = core;
    this.objects = objects;
    this.outbox = outbox;
    this.dispatcher = dispatcher;
    this.check = check;
  }

  @Override
  public CompletionQueue queue(QueueOptions options) {
    return objects.queue(Objects.requireNonNull(options, "options"));
  }

  @Override
  public Synchronizer synchronizer(int threshold) {
    return objects.synchronizer(threshold);
  }

  @Override
  public Counter counter() {
    return objects.counter();
  }

  @Override
  public CompletionGraph.Builder graph() {
    core.ending.refuse("build graph");
    return new GraphBuilder(core, outbox, dispatcher, check);
  }

  @Override
  public Disposable bind(Port port, CompletionTarget target) {
    return objects.bind(
        Objects.requireNonNull(port, "port"), Objects.requireNonNull(target, "target"));
  }
}
