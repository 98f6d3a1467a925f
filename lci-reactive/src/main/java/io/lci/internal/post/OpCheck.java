/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.AmOp;
import io.lci.Op;
import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.NativeTarget;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.RemoteId;
import io.lci.internal.lane.UserBuffer;
import io.lci.matching.MatchingEngine;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Refuses operations that cannot be one of this runtime. Any thread. */
public final class OpCheck {
  private final CoreRuntime core;
  private final PortNames names;

  public OpCheck(CoreRuntime core) {
    this.core = core;
    this.names = new PortNames(core);
  }

  /** The name of a port that is used: the core knows it from now on. */
  void tell(Port port) {
    names.tell(port);
  }

  /** Throws if the operation cannot be one of this runtime. */
  public void check(Op op) {
    if (OpParts.isPerRun(Objects.requireNonNull(op, "op"))) {
      throw new IllegalArgumentException("only a node of a graph is per run: " + op);
    }
    checkKnown(op);
  }

  /** Throws if the operation cannot be a node of a graph of this runtime. */
  public void checkNode(Op op) {
    checkKnown(Objects.requireNonNull(op, "op"));
    if (op.device() != 0
        || op.target() != null
        || op.deadline() != null
        || op.outcomeConsumer() != null
        || op.errorConsumer() != null) {
      throw new IllegalArgumentException(
          "a node's operation has device 0, no target, no deadline and no consumers: " + op);
    }
    boolean keyed = OpParts.engine(op) instanceof EngineImpl engine && engine.isKeyed();
    if (OpParts.isPerRun(op) && (keyed || OpParts.policy(op) != Op.Policy.RANK_TAG)) {
      throw new IllegalArgumentException(
          "an operation per run is matched by rank and tag, and not by keys of the program: " + op);
    }
  }

  private void checkKnown(Op op) {
    checkOwn(op);
    if (op.kind() != Op.Kind.BARRIER && op.rank() != Op.ANY_SOURCE) {
      core.checkRank(op.rank());
    }
    Port port = OpParts.port(op);
    if (port != null) {
      names.tell(port);
    }
    if (op instanceof AmOp am && am.replyTo() != null) {
      core.replyRooms.id(am.replyTo());
    }
  }

  /** Ids of another runtime's regions mean nothing here, or something else. */
  private void checkOwn(Op op) {
    checkOwn(OpParts.memory(op));
    List<RemotePlace> places = OpParts.places(op);
    if (places != null) {
      places.forEach(place -> checkOwn(place.memory()));
    }
    UserBuffer.check(op, core.identity);
    MatchingEngine engine = OpParts.engine(op);
    if (engine != null && !(engine instanceof EngineImpl e && e.core() == core)) {
      throw new IllegalArgumentException("another runtime made " + engine);
    }
    checkTarget(op.target());
  }

  private void checkTarget(@Nullable Object target) {
    if (target instanceof CompletionTarget object) {
      NativeTarget.of(core, object);
    } else if (target instanceof Inbox inbox && inbox.partitions().size() > 1) {
      throw new IllegalArgumentException(
          "an inbox in parts takes no ends of operations; name one of its partitions()");
    } else if (target != null
        && !(target instanceof CompletionHandler)
        && !(target instanceof HeapTarget known && known.core() == core)) {
      throw new IllegalArgumentException("not a completion target of this runtime: " + target);
    }
  }

  private void checkOwn(@Nullable RemoteMemory remote) {
    if (remote != null && !(remote instanceof RemoteId memory && memory.core() == core)) {
      throw new IllegalArgumentException("another runtime opened " + remote);
    }
  }
}
