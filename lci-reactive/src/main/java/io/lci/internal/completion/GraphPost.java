/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.internal.lane.PostWriter;
import io.lci.internal.post.Destination;
import io.lci.internal.post.Notice;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;

/** What a loop tells the core about a graph: start a run, a host node is done or has failed. */
final class GraphPost extends Notice {
  private final GraphRun run;
  private final int kind;
  private final int node;
  private final long context;

  /** Of a run that starts; null: the last one plus one. */
  private final @Nullable Long number;

  private GraphPost(
      Outbox outbox, GraphRun run, int kind, int node, long context, @Nullable Long number) {
    super(outbox);
    this.run = run;
    this.kind = kind;
    this.node = node;
    this.context = context;
    this.number = number;
  }

  static void start(Outbox outbox, GraphRun run, int graph) {
    new GraphPost(outbox, run, Codes.OP_GRAPH_START, 0, graph, run.given).submit();
  }

  static void done(Outbox outbox, GraphRun run, int node, long context) {
    new GraphPost(outbox, run, Codes.OP_NODE_DONE, node, context, null).submit();
  }

  static void failed(Outbox outbox, GraphRun run, int node, long context) {
    new GraphPost(outbox, run, Codes.OP_NODE_FAILED, node, context, null).submit();
  }

  private void submit() {
    submit(this, Destination.GRAPH);
  }

  @Override
  public void encode(Object item, PostWriter out) {
    out.op = kind;
    out.answer(node, context);
    if (number != null) {
      out.runNumber(number);
    }
  }

  @Override
  public void failed(Object item, Destination destination, RuntimeException reason) {
    if (kind == Codes.OP_GRAPH_START) {
      run.refused(reason);
    } else {
      super.failed(item, destination, reason);
    }
  }

  @Override
  public void drain() {}
}
