/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.ReceiveOp;
import io.lci.SendOp;
import io.lci.error.LciException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.matching.EngineOptions;
import io.lci.matching.MakeKey;
import io.lci.matching.MatchingEngine;
import io.lci.nativebridge.Codes;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A matching engine of the core; keys are made here, as the core cannot call Java. */
public final class EngineImpl implements MatchingEngine {
  private final CoreRuntime core;
  private final int number;
  private final @Nullable MakeKey makeKey;
  private final AtomicBoolean disposed = new AtomicBoolean();

  private EngineImpl(CoreRuntime core, int number, EngineOptions options) {
    this.core = core;
    this.number = number;
    this.makeKey = options.keys();
  }

  public static EngineImpl create(CoreRuntime core, int number, EngineOptions options) {
    EngineImpl engine = new EngineImpl(core, number, options);
    int store = options.store() == EngineOptions.Store.MAP ? Codes.ENGINE_MAP : Codes.ENGINE_QUEUE;
    int type = options.keys() == null ? store : store | Codes.ENGINE_KEYED;
    core.gate.ask(
        "create engine " + number,
        LciException.NONE,
        () -> core.calls.engineCreate(core.handle, number, type, 0, 0));
    return engine;
  }

  CoreRuntime core() {
    return core;
  }

  /** Whether operations bring their keys. */
  boolean isKeyed() {
    return makeKey != null;
  }

  long key(SendOp op) {
    return key(core.rank, op.tag(), op.policy());
  }

  long key(ReceiveOp op) {
    return key(op.rank(), op.tag(), compared(op));
  }

  private long key(int rank, long tag, Op.Policy policy) {
    return Objects.requireNonNull(makeKey).key(rank, tag, policy);
  }

  /** Wildcards override the policy of a receive. */
  private static Op.Policy compared(ReceiveOp op) {
    boolean anySource = op.rank() == Op.ANY_SOURCE;
    if (op.tag() == Op.ANY_TAG) {
      return anySource ? Op.Policy.NONE : Op.Policy.RANK;
    }
    return anySource ? Op.Policy.TAG : op.policy();
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public void dispose() {
    if (!disposed.getAndSet(true)) {
      int code = (int) core.gate.with(() -> core.calls.engineFree(core.handle, number), Codes.DONE);
      Errors.check(core.calls, code, "free engine " + number, LciException.NONE);
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed.get();
  }

  @Override
  public String toString() {
    return "MatchingEngine[" + number + ']';
  }
}
