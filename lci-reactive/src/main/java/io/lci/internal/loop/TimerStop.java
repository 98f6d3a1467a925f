/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** Takes tasks back from the timer of the options, which may be the program's own. */
public final class TimerStop {
  private TimerStop() {}

  /** Stops a task; throws what the timer throws. A timer's queue may have a lock. */
  public static void now(Disposable task) {
    task.dispose();
  }

  /**
   * Stops a task. What the timer throws is dropped, so that whoever waits is told of the end all
   * the same; what the program's hook for that throws comes out of this.
   *
   * @param task what the timer was given
   * @param context may have a hook of its own for dropped errors
   */
  public static void of(Disposable task, Context context) {
    try {
      now(task);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      Operators.onErrorDropped(e, context);
    }
  }
}
