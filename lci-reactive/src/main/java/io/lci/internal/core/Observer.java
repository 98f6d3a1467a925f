/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.collective.Algorithm;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;

/** Tells the user's instrumentation what happens; what it throws harms nobody else. Any thread. */
public final class Observer {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final LciInstrumentation instrumentation;

  Observer(LciInstrumentation instrumentation) {
    this.instrumentation = instrumentation;
  }

  public void tell(Consumer<LciInstrumentation> call) {
    try {
      call.accept(instrumentation);
    } catch (Throwable e) {
      failed(e);
    }
  }

  /** As {@link #tell}, without an object for each: the loop calls it again and again. */
  public void operationTimed(Op.Kind kind, int device, long nanos) {
    try {
      instrumentation.operationTimed(kind, device, nanos);
    } catch (Throwable e) {
      failed(e);
    }
  }

  /** Whether somebody looks: else a call need not be timed. */
  public boolean isOn() {
    return instrumentation != LciInstrumentation.NONE;
  }

  /** As {@link #operationTimed}. */
  public void collectiveTimed(
      String call, Algorithm algorithm, int device, long bytes, long nanos) {
    try {
      instrumentation.collectiveTimed(call, algorithm, device, bytes, nanos);
    } catch (Throwable e) {
      failed(e);
    }
  }

  private static void failed(Throwable error) {
    Exceptions.throwIfJvmFatal(error);
    Thrown.log(error, e -> LOG.warn("the instrumentation failed", e));
  }
}
