/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.internal.loop.IdleSteps;

/**
 * Decides what a loop does after a turn that found nothing to do. The loop asks on its thread after
 * each empty turn, so the strategy must be quick and must not block. The loop takes the step
 * itself, and only a park ends the loop's use of its CPU. A program's own strategy is a lambda:
 *
 * <pre>{@code
 * IdleStrategy mine = empty -> empty < 1_000 ? IdleStrategy.Step.SPIN : IdleStrategy.Step.PARK;
 * }</pre>
 *
 * <p>A strategy never changes which events a loop sees: it sees a message, room, a task, demand and
 * a timer after any step, only sooner or later. A strategy that throws ends its loop, and with it
 * the runtime.
 *
 * <p>A dedicated loop that would spin by one of the strategies below, and has nothing else to do,
 * also waits in the core while calls of groups are under way, for a microsecond at a time.
 *
 * @see LciOptions.Builder#idle(IdleStrategy)
 * @since 0.1
 */
@FunctionalInterface
public interface IdleStrategy {
  /** The step before the next turn. */
  enum Step {
    /** Nothing but a hint to the processor ({@link Thread#onSpinWait()}): shortest reaction. */
    SPIN,
    /** Give the CPU to another thread that waits for it ({@link Thread#yield()}), and go on. */
    YIELD,
    /**
     * Sleep until something comes, at most 50 ms. A thread or rank that has something for the loop
     * makes a system call to wake it.
     */
    PARK
  }

  /**
   * Chooses the next step.
   *
   * @param empty empty turns in a row, this one included: 1 or more; a turn that found something
   *     starts it again
   * @return what to do, never null
   */
  Step next(long empty);

  /**
   * {@return the default: {@value LciOptions#DEFAULT_IDLE_SPINS} empty turns, then {@value
   * LciOptions#DEFAULT_IDLE_YIELDS} yields, then parks}
   */
  static IdleStrategy backoff() {
    return backoff(LciOptions.DEFAULT_IDLE_SPINS, LciOptions.DEFAULT_IDLE_YIELDS);
  }

  /**
   * Spins, then yields, then parks.
   *
   * @param spins empty turns before yielding; 0 or more
   * @param yields yields before parking; 0 or more
   * @return the strategy
   */
  static IdleStrategy backoff(int spins, int yields) {
    return IdleSteps.backoff(spins, yields);
  }

  /**
   * {@return the strategy that never leaves the CPU} Only for a loop with a CPU of its own ({@link
   * LciOptions.Builder#affinity}): on a shared CPU it takes the time of the threads that it waits
   * for.
   */
  static IdleStrategy busySpin() {
    return IdleSteps.BUSY_SPIN;
  }

  /** {@return the strategy that spins a little, then yields for ever: no loop has to be woken} */
  static IdleStrategy yielding() {
    return IdleSteps.YIELDING;
  }

  /** {@return the strategy that parks at once: least CPU time, a wake for each arrival} */
  static IdleStrategy parking() {
    return IdleSteps.PARKING;
  }
}
