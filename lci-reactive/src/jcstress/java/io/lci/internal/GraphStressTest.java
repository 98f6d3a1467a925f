/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.CompletionGraph;
import io.lci.completion.GraphResult;
import io.lci.internal.completion.GraphNode;
import io.lci.nativebridge.Codes;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import reactor.core.publisher.Sinks;

/**
 * Runs of graphs: whoever cancels, disposes, or answers for a node, a run has one end, each host
 * node one answer, the graph one end in the core, and it runs again unless it was disposed of.
 */
public class GraphStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  /** By what the core calls a node that it fired: how often it was answered. */
  private static final Map<Long, Integer> ANSWERS = new ConcurrentHashMap<>();

  static {
    ScriptedCore.Script otherwise = STAGE.operations.core.script;
    STAGE.operations.core.script =
        submitted -> {
          if (submitted.op() == Codes.OP_NODE_DONE || submitted.op() == Codes.OP_NODE_FAILED) {
            ANSWERS.merge(submitted.context(), 1, Integer::sum);
          }
          return otherwise.answer(submitted);
        };
  }

  /** A graph that the core has. */
  private static final class Known {
    final Seen<GraphResult> seen = new Seen<>();
    private final CompletionGraph graph;
    private int id;

    /**
     * @param node of which it is made; null for one that ends at once
     * @param runs whether a run is under way
     */
    Known(Sinks.@Nullable One<Integer> node, boolean runs) {
      CompletionGraph.Builder builder = STAGE.operations.runtime.completions().graph();
      if (node != null) {
        builder.mono(results -> node.asMono());
      }
      graph = builder.build();
      STAGE.asLoop(
          () -> {
            begin(runs ? seen : new Seen<>());
            id = STAGE.operations.core.lastObject();
            if (!runs) {
              ends(Codes.ERR_CANCELLED);
            } else if (node != null) {
              STAGE.operations.core.graphFires(id, GraphNode.FIRST);
              STAGE.turns(1);
            }
          });
    }

    private void begin(Seen<GraphResult> run) {
      graph.run().subscribe(run);
      run.subscription.request(1);
      STAGE.turns(1);
    }

    private void ends(int code) {
      STAGE.operations.core.graphEnds(id, code);
      STAGE.turns(2);
    }

    /** How often the node was answered. */
    int answers() {
      Integer answers = ANSWERS.remove((long) id);
      return answers == null ? 0 : answers;
    }

    /** The core ends a run that was cancelled; then another one works. Returns what is wrong. */
    int again() {
      int left = STAGE.leftOver();
      Seen<GraphResult> next = new Seen<>();
      STAGE.asLoop(
          () -> {
            ends(Codes.ERR_CANCELLED);
            begin(next);
            ends(Codes.ERR_CANCELLED);
          });
      boolean ran = next.elements.get() == 0 && next.errors.get() == 1 && next.ends.get() == 1;
      return left + seen.afterTheEnd.get() + (ran ? 0 : 10) + over();
    }

    /** Disposes of it; the core has forgotten it, once. Returns what is wrong. */
    int over() {
      graph.dispose();
      int left = STAGE.leftOver();
      STAGE.asLoop(() -> ends(Codes.ERR_CANCELLED)); // of a run that the disposal cancelled
      boolean freed = STAGE.operations.core.isGone(id);
      return left + (freed ? 0 : 100) + 1000 * STAGE.operations.core.freedTwice.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before")
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled at the result")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "ended before the cancel")
  @State
  public static class CancelAndEnd {
    private final Known known = new Known(null, true);

    @Actor
    public void loop() {
      STAGE.become();
      known.ends(Codes.DONE);
    }

    @Actor
    public void subscriber() {
      known.seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = known.again();
      result.r1 = known.seen.elements.get();
      result.r2 = known.seen.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "the node is answered once")
  @State
  public static class CancelAndNode {
    private final Sinks.One<Integer> node = Sinks.one();
    private final Known known = new Known(node, true);

    @Actor
    public void loop() {
      STAGE.become();
      known.seen.subscription.cancel();
      STAGE.turn();
    }

    @Actor
    public void other() {
      node.tryEmitValue(1).orThrow();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = known.again();
      result.r1 = known.answers();
      result.r2 = known.seen.elements.get() + known.seen.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "the node is answered once")
  @State
  public static class DisposeAndNode {
    private final Sinks.One<Integer> node = Sinks.one();
    private final Known known = new Known(node, true);

    @Actor
    public void loop() {
      STAGE.become();
      known.graph.dispose();
      STAGE.turn();
    }

    @Actor
    public void other() {
      node.tryEmitValue(1).orThrow();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = known.over();
      result.r1 = known.answers();
      result.r2 = known.seen.elements.get() + (known.seen.errors.get() == 1 ? 0 : 10);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the end")
  @State
  public static class DisposeAndRun {
    private final Known known = new Known(null, false);

    @Actor
    public void loop() {
      STAGE.become();
      known.begin(known.seen);
    }

    @Actor
    public void other() {
      known.graph.dispose();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = known.over() + known.seen.afterTheEnd.get();
      result.r1 = known.seen.elements.get();
      result.r2 = known.seen.errors.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "one runs, the other is refused")
  @State
  public static class RunAndRun {
    private final Known known = new Known(null, false);
    private final Seen<GraphResult> other = new Seen<>();

    @Actor
    public void one() {
      known.graph.run().subscribe(known.seen);
      known.seen.subscription.request(1);
    }

    @Actor
    public void other() {
      known.graph.run().subscribe(other);
      other.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      STAGE.asLoop(() -> known.ends(Codes.DONE));
      result.r1 = known.seen.elements.get() + other.elements.get();
      result.r2 = known.seen.errors.get() + other.errors.get();
      result.r3 = left + known.again();
    }
  }
}
