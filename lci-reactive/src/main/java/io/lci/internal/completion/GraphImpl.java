/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.Op;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.GraphResult;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.GraphSink;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.OpCodec;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A graph of loop 0's lane, uploaded at its first run; the core fires its nodes. [V13] */
final class GraphImpl implements CompletionGraph, GraphSink {
  private static final int NO_ID = 0;
  private static final int STATUS_SLOTS = Layout.STATUS_SIZE / Long.BYTES;

  private final CoreRuntime core;
  private final Outbox outbox;
  private final Dispatcher dispatcher;
  private final EventLoop loop;
  private final Lane lane;
  private final List<GraphNode<?>> nodes;
  private final int[] edges;
  private final boolean mayWaitForever;
  private volatile boolean disposed;

  // Loop only
  private final RunNumbers numbers;
  private final NativeScratch status = new NativeScratch(STATUS_SLOTS);
  private @Nullable NativeScratch statuses;
  private @Nullable GraphTable table;
  private int id = NO_ID;
  private @Nullable GraphRun running;

  GraphImpl(
      CoreRuntime core,
      Outbox outbox,
      Dispatcher dispatcher,
      List<GraphNode<?>> nodes,
      int[] edges) {
    this.core = core;
    this.outbox = outbox;
    this.dispatcher = dispatcher;
    this.loop = outbox.loop;
    this.lane = outbox.lane;
    this.nodes = nodes;
    this.edges = edges;
    this.numbers = new RunNumbers(nodes.stream().anyMatch(GraphImpl::isPerRun));
    this.mayWaitForever = nodes.stream().anyMatch(GraphImpl::mayWaitForever);
  }

  private static boolean mayWaitForever(GraphNode<?> node) {
    return node instanceof GraphSignal || (node.op != null && node.op.kind() == Op.Kind.RECEIVE);
  }

  private static boolean isPerRun(GraphNode<?> node) {
    return node.op != null && OpParts.isPerRun(node.op);
  }

  @Override
  public Mono<GraphResult> run() {
    return runNumbered(null);
  }

  @Override
  public Mono<GraphResult> run(long number) {
    if (number < 0) {
      throw new IllegalArgumentException("the number of a run is not negative: " + number);
    }
    return runNumbered(number);
  }

  private Mono<GraphResult> runNumbered(@Nullable Long number) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super GraphResult> actual) {
        if (disposed) {
          Operators.error(actual, gone());
        } else {
          actual.onSubscribe(new GraphRun(outbox, actual, GraphImpl.this, nodes.size(), number));
        }
      }
    };
  }

  private RuntimeException gone() {
    return core.ending.gone("run a graph", "graph", "Completions.graph builds another");
  }

  GraphNode<?> own(Node<?> node) {
    if (node instanceof GraphNode<?> known
        && known.index < nodes.size()
        && nodes.get(known.index) == known) {
      return known;
    }
    throw new IllegalArgumentException("a node of another graph: " + node);
  }

  // Loop only

  /** Starts a run. */
  void begin(GraphRun run) {
    if (disposed || loop.isClosing()) {
      throw gone();
    }
    if (running != null) {
      throw new IllegalStateException("a run of the graph is under way");
    }
    numbers.check(run.given);
    if (id == NO_ID) {
      upload();
    }
    running = run;
    if (!mayWaitForever) {
      loop.runBegan(); // a graceful close waits for it, as for what was posted
    }
    GraphPost.start(outbox, run, id);
  }

  private void upload() {
    GraphTable uploading = new GraphTable(outbox, nodes, edges);
    NativeScratch out = new NativeScratch(1);
    Errors.check(lane.calls, uploading.upload(lane, out.address(0)), "upload a graph", 0);
    table = uploading;
    id = out.getInt(0);
    dispatcher.attach(id, this);
  }

  /** A HOST_NODE record. */
  @Override
  public void fire(int number, long context) {
    GraphRun run = running;
    if (run != null) {
      run.fire(nodes.get(number - GraphNode.FIRST), context);
    }
  }

  /** A GRAPH record. */
  @Override
  public void ended(int code, int number) {
    GraphRun run = running;
    if (run == null) {
      return;
    }
    numbers.ended(run.given, code == Codes.DONE);
    int outcome = code == Codes.DONE ? readAll(run.values()) : code;
    over(run);
    run.end(number, outcome == Codes.DONE ? null : failure(outcome, number));
  }

  /** The run is over, or did not begin. */
  void over(GraphRun run) {
    if (running == run) {
      running = null;
      if (!mayWaitForever) {
        loop.runEnded();
      }
      if (disposed) {
        free();
      }
    }
  }

  private LciException failure(int code, int number) {
    String name = Errors.name(lane.calls, code);
    if (number < GraphNode.FIRST) {
      return Errors.of(Detail.of("run a graph", name, Errors.hint(code)), code);
    }
    GraphNode<?> node = nodes.get(number - GraphNode.FIRST);
    Op op = node.op;
    int rank = op == null || op.kind() == Op.Kind.BARRIER ? LciException.NONE : op.rank();
    Port port = op == null ? null : OpParts.port(op);
    return Errors.of(
        new Detail(
            "node " + node.name() + " of a graph",
            rank,
            port == null ? LciException.NONE : port.number(),
            loop.firstDevice(),
            name,
            Errors.hint(code)),
        code);
  }

  /** Reads the status of an operation's node, if it has completed. */
  void read(int index, GraphValues into) {
    if (nodes.get(index).op == null || running == null || running.values() != into) {
      return;
    }
    if (!loop.inLoop()) {
      throw new IllegalStateException("results of a run under way are read on " + loop);
    }
    readStatuses(index, 1, status);
    take(index, status, 0, into);
  }

  /**
   * Reads what the nodes of a run that is over have not brought yet, by one call. Answers DONE, or
   * that there is no memory for it.
   */
  private int readAll(GraphValues into) {
    if (nodes.stream().noneMatch(node -> node.op != null)) {
      return Codes.DONE;
    }
    if (statuses == null) {
      statuses = new NativeScratch(Math.multiplyExact(STATUS_SLOTS, nodes.size()));
    }
    readStatuses(0, nodes.size(), statuses);
    try {
      for (GraphNode<?> node : nodes) {
        if (node.op != null && !into.isKnown(node.index)) {
          take(node.index, statuses, node.index * STATUS_SLOTS, into);
        }
      }
    } catch (PooledBuffer.NoMemory e) {
      return Codes.ERR_NO_MEMORY;
    }
    return Codes.DONE;
  }

  private void readStatuses(int first, int count, NativeScratch into) {
    int code =
        lane.calls.laneGraphStatuses(
            lane.handle, id, first + GraphNode.FIRST, count, into.address(0));
    Errors.check(lane.calls, code, "read the statuses of nodes", 0);
  }

  private void take(int index, NativeScratch from, int slot, GraphValues into) {
    Op op = java.util.Objects.requireNonNull(nodes.get(index).op);
    long first = from.getLong(slot + Layout.STATUS_CODE / Long.BYTES);
    if ((int) first != Codes.DONE) {
      return;
    }
    int rank = (int) (first >>> 32);
    long tag = from.getLong(slot + Layout.STATUS_TAG / Long.BYTES);
    long size = from.getLong(slot + Layout.STATUS_SIZE_FIELD / Long.BYTES);
    PooledBuffer memory = java.util.Objects.requireNonNull(table).memory(index);
    into.set(
        index,
        new Completion(
            Completion.Kind.OPERATION,
            rank,
            tag,
            size,
            OpCodec.message(op, memory, rank, tag, Math.toIntExact(size)),
            null,
            op.userContext()));
  }

  void cancel(GraphRun run) {
    if (running == run) {
      outbox.flush(); // what has not started the core does not cancel
    }
    if (running == run) { // its start was not refused just now
      int code = lane.calls.laneGraphCancel(lane.handle, id);
      loop.enterSoon();
      if (Codes.isError(code)) {
        loop.uncaught(
            new IllegalStateException("cancel a graph: " + Errors.name(lane.calls, code)));
      }
    }
  }

  private void free() {
    if (id == NO_ID) {
      return;
    }
    int code = lane.calls.laneGraphFree(lane.handle, id);
    dispatcher.detach(id, this);
    id = NO_ID;
    if (Codes.isError(code)) {
      loop.uncaught(new IllegalStateException("free a graph: " + Errors.name(lane.calls, code)));
    } else if (table != null) {
      table.giveBack(outbox.pool);
    }
    table = null;
  }

  @Override
  public void dispose() {
    if (!disposed) {
      disposed = true;
      loop.execute(
          () -> {
            closeSignals();
            GraphRun run = running;
            if (run == null) {
              free();
            } else {
              run.graphIsGone(gone());
            }
          });
    }
  }

  private void closeSignals() {
    for (GraphNode<?> node : nodes) {
      if (node instanceof GraphSignal signal) {
        signal.close();
      }
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  @Override
  public String toDot() {
    StringBuilder text = new StringBuilder("digraph {\n  0 [label=\"start\"];\n");
    for (GraphNode<?> node : nodes) {
      text.append("  ").append(node.index + GraphNode.FIRST).append(" [label=\"");
      text.append(node.name().replace("\"", "\\\"")).append("\"];\n");
    }
    for (int i = 0; i < edges.length; i += 2) {
      text.append("  ").append(edges[i]).append(" -> ").append(edges[i + 1]).append(";\n");
    }
    return text.append("}\n").toString();
  }

  @Override
  public String toString() {
    return "CompletionGraph[" + nodes.size() + " nodes]";
  }
}
