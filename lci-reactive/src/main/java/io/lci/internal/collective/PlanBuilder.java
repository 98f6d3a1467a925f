/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.CollectivePlan;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.internal.lane.CallData;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Collects what a plan does, and makes its calls. */
final class PlanBuilder implements CollectivePlan.Calls, CollectivePlan.Builder {
  private static final long WHOLE = Long.MAX_VALUE;

  /** A call over one set of memory. */
  private interface Call {
    CallData make(CallMaker maker, @Nullable Vec in, @Nullable Vec out);
  }

  private final GroupCalls group;
  private CallMaker maker;
  private @Nullable Call call;
  private @Nullable List<Vec> ins;
  private @Nullable List<Vec> outs;
  private boolean divides;
  private long segmentBytes = WHOLE;
  private int depth;

  PlanBuilder(GroupCalls group, CallMaker maker) {
    this.group = group;
    this.maker = maker;
  }

  // What

  @Override
  public CollectivePlan.Builder broadcast(int root, List<Vec> data) {
    return divided(null, named("data", data), (m, in, out) -> m.broadcast(root, given(out)));
  }

  @Override
  public CollectivePlan.Builder reduce(
      int root, List<Vec> in, @Nullable List<Vec> out, ReduceOp op) {
    List<Vec> results = maker.isRoot(root) ? named("outs", out) : null;
    return divided(named("ins", in), results, (m, i, o) -> m.reduce(root, given(i), o, core(op)));
  }

  @Override
  public CollectivePlan.Builder allReduce(List<Vec> in, List<Vec> out, ReduceOp op) {
    return divided(
        named("ins", in),
        named("outs", out),
        (m, i, o) -> m.allReduce(given(i), given(o), core(op)));
  }

  @Override
  public CollectivePlan.Builder reduceScatter(List<Vec> in, List<Vec> out, ReduceOp op) {
    return both(in, out, (m, i, o) -> m.reduceScatter(given(i), given(o), core(op)));
  }

  @Override
  public CollectivePlan.Builder allGather(List<Vec> in, List<Vec> out) {
    return both(in, out, (m, i, o) -> m.allGather(given(i), given(o)));
  }

  @Override
  public CollectivePlan.Builder allToAll(List<Vec> in, List<Vec> out) {
    return both(in, out, (m, i, o) -> m.allToAll(given(i), given(o)));
  }

  private static ReduceOp core(ReduceOp op) {
    if (op.reducer() != null) {
      throw new IllegalArgumentException("a plan is done by the core: " + op);
    }
    return op;
  }

  private static Vec given(@Nullable Vec vec) {
    return Objects.requireNonNull(vec);
  }

  private static List<Vec> named(String name, @Nullable List<Vec> list) {
    return List.copyOf(Objects.requireNonNull(list, name));
  }

  private CollectivePlan.Builder both(List<Vec> in, List<Vec> out, Call made) {
    return of(named("ins", in), named("outs", out), made);
  }

  /** One whose elements do not depend on each other. */
  private CollectivePlan.Builder divided(
      @Nullable List<Vec> in, @Nullable List<Vec> out, Call made) {
    CollectivePlan.Builder whole = of(in, out, made);
    divides = true;
    return whole;
  }

  private CollectivePlan.Builder of(@Nullable List<Vec> in, @Nullable List<Vec> out, Call made) {
    ins = in;
    outs = out;
    call = made;
    divides = false;
    segmentBytes = WHOLE;
    depth = (in != null ? in : Objects.requireNonNull(out)).size();
    return this;
  }

  // How

  @Override
  public CollectivePlan.Builder algorithm(Algorithm algorithm) {
    maker = maker.with(algorithm);
    return this;
  }

  @Override
  public CollectivePlan.Builder segmentBytes(long bytes) {
    if (!divides) {
      throw new IllegalArgumentException("this call cannot be divided into segments");
    }
    segmentBytes = bytes;
    return this;
  }

  @Override
  public CollectivePlan.Builder depth(int value) {
    depth = value;
    return this;
  }

  @Override
  public CollectivePlan build() {
    check(ins, "ins");
    check(outs, "outs");
    List<List<CallData>> sets = new ArrayList<>();
    for (int set = 0; set < depth; set++) {
      sets.add(calls(at(ins, set), at(outs, set)));
      for (int other = 0; other < set; other++) {
        apart(set, other);
        apart(other, set);
      }
    }
    return new PlanImpl(group, group.chosen(sets.get(0).get(0)), sets);
  }

  private static @Nullable Vec at(@Nullable List<Vec> list, int index) {
    return list == null ? null : list.get(index);
  }

  private void check(@Nullable List<Vec> list, String name) {
    if (list == null) {
      return;
    }
    if (list.size() != depth || depth == 0 || depth > CollectivePlan.MAX_DEPTH) {
      throw new IllegalArgumentException(
          name
              + " has a Vec for each of 1 to "
              + CollectivePlan.MAX_DEPTH
              + " sets of memory, and the depth is "
              + depth
              + ": "
              + list.size());
    }
    for (Vec vec : list) {
      if (vec.type() != list.get(0).type() || vec.count() != list.get(0).count()) {
        throw new IllegalArgumentException(
            name + " have one type and length: " + list.get(0) + ", " + vec);
      }
    }
  }

  /** What one run writes is nothing of another. */
  private void apart(int set, int other) {
    Vec out = at(outs, set);
    if (out != null) {
      maker.check().disjoint(at(ins, other), out);
      maker.check().disjoint(at(outs, other), out);
    }
  }

  private List<CallData> calls(@Nullable Vec in, @Nullable Vec out) {
    Call made = Objects.requireNonNull(call);
    Vec any = in != null ? in : given(out);
    long elements = segmentBytes == WHOLE ? any.count() : segmentBytes / any.type().bytes();
    CallData whole = made.make(maker, in, out);
    if (elements >= any.count()) {
      return List.of(whole);
    }
    if (elements <= 0) {
      throw new IllegalArgumentException(
          "a segment has at least the bytes of an element of " + any + ": " + segmentBytes);
    }
    List<CallData> segments = new ArrayList<>();
    for (long from = 0; from < any.count(); from += elements) {
      long count = Math.min(elements, any.count() - from);
      segments.add(made.make(maker, slice(in, from, count), slice(out, from, count)));
    }
    return segments;
  }

  private static @Nullable Vec slice(@Nullable Vec vec, long from, long count) {
    return vec == null ? null : vec.slice(from, count);
  }
}
