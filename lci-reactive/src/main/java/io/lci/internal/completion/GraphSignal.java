/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph.SignalNode;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.Relay;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;

/** A node that the ends of operations outside the graph complete. */
final class GraphSignal extends GraphNode<Completion> implements SignalNode, HeapTarget {
  private final EventLoop loop;
  private final GraphSignals signals;

  GraphSignal(GraphBuilder owner, int index, EventLoop loop, GraphSignals signals) {
    super(owner, index, null, null, results -> signals.next());
    this.loop = loop;
    this.signals = signals;
  }

  /** The graph is disposed of. Its loop only. */
  void close() {
    signals.close();
  }

  @Override
  public String name() {
    return index + ": signal";
  }

  // As a completion target

  @Override
  public CoreRuntime core() {
    return loop.core();
  }

  /** It has room for all. */
  @Override
  public int reserve(Relay relay, int device) {
    return Codes.DONE;
  }

  @Override
  public void giveBack(Relay relay) {}

  @Override
  public boolean ended(Completion completion, boolean reserved) {
    return loop.execute(() -> signals.add(completion));
  }

  @Override
  public boolean takesFailures() {
    return true;
  }
}
