/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.Operations.Kind;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopOwner;
import io.lci.nativebridge.Codes;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Hooks;

/**
 * A loop over a core whose answers the test decides. All states of a test share it: one actor is
 * the loop while actors run, and whoever makes or judges a state is the loop meanwhile, one at a
 * time. In between it is nobody's, so that no actor is taken for the loop by mistake.
 */
final class Stage {
  private static final VarHandle OWNER = field(EventLoop.class, "owner", LoopOwner.class);
  private static final VarHandle THREAD = field(LoopOwner.class, "thread", Thread.class);
  private static final AtomicInteger DROPPED = new AtomicInteger();

  static {
    Hooks.onErrorDropped(error -> DROPPED.incrementAndGet());
    Hooks.onNextDropped(item -> DROPPED.incrementAndGet());
  }

  final TickClock clock = new TickClock();
  final Operations operations = new Operations(clock);
  final EventLoop loop = operations.runtime.loops.all.get(0);
  private final LoopOwner owner = (LoopOwner) OWNER.get(loop);

  // Loop only
  private final ArrayDeque<Long> posted = new ArrayDeque<>();
  private final Map<String, Long> counters = new HashMap<>();

  /**
   * @param answer what the core answers to every operation
   */
  Stage(int answer) {
    operations.core.script =
        submitted -> {
          if (submitted.op() == Codes.OP_CANCEL) {
            return Codes.DONE;
          }
          if (answer == Codes.POSTED) {
            posted.add(submitted.context());
          }
          return answer;
        };
  }

  private static VarHandle field(Class<?> holder, String name, Class<?> type) {
    try {
      return MethodHandles.privateLookupIn(holder, MethodHandles.lookup())
          .findVarHandle(holder, name, type);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** How often a signal was dropped that nobody could take any more, in this process. */
  static int dropped() {
    return DROPPED.get();
  }

  /** Runs something as the loop, while no actor is. */
  synchronized void asLoop(Runnable step) {
    become();
    try {
      step.run();
    } finally {
      THREAD.setVolatile(owner, (Thread) null);
    }
  }

  /** The actor that calls is the loop. */
  void become() {
    if (!loop.inLoop()) {
      THREAD.setVolatile(owner, Thread.currentThread());
    }
  }

  /** One turn, by the actor that is the loop. */
  void turn() {
    become();
    turns(1);
  }

  /** Turns, one after the other; only inside {@link #asLoop}, or by the actor that is the loop. */
  void turns(int count) {
    operations.core.generation++;
    operations.core.ring();
    operations.turns(count);
    operations.core.batches.clear();
  }

  /** Subscribes to an operation, which waits for the first request. */
  Seen<Object> subscribed(Kind kind) {
    Seen<Object> seen = new Seen<>();
    operations.runtime.post(operations.op(kind, 1)).cast(Object.class).subscribe(seen);
    return seen;
  }

  /** Ends what was posted, by the actor that is the loop. */
  void endPosted(int code) {
    become();
    posted.forEach(context -> operations.core.ended(context, code, Operations.PEER));
    posted.clear();
    do {
      turns(1);
    } while (operations.core.hasMoreToTell());
  }

  /**
   * Lets the loop do all that is to be done, and ends what nobody ended. Returns what is left over,
   * and must be 0: operations that are held, tasks that threw, signals that were dropped. Other
   * states may be new already, so nothing is posted when a state is made.
   */
  synchronized int leftOver() {
    asLoop(
        () -> {
          do {
            turns(3);
            endPosted(Codes.DONE);
          } while (!posted.isEmpty() || loop.hasOwnWork()); // thousands of states hand it tasks
          turns(3);
        });
    counters.clear();
    loop.count(counters);
    return operations.parked()
        + operations.inSlots()
        + counters.get("loop_uncaught").intValue()
        + dropped();
  }
}
