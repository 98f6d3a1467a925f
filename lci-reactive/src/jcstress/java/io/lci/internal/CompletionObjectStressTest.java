/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.internal.completion.SynchronizerImpl;
import io.lci.nativebridge.Codes;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import reactor.core.Disposable;

/**
 * Queues, synchronizers and counters: what signals them is delivered or kept, whoever asks, leaves,
 * comes, and disposes of them.
 */
public class CompletionObjectStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  private static CompletionQueue queue() {
    return STAGE.operations.runtime.completions().queue(QueueOptions.defaults());
  }

  private static SynchronizerImpl synchronizer() {
    return (SynchronizerImpl) STAGE.operations.runtime.completions().synchronizer(1);
  }

  private static Counter counter() {
    return STAGE.operations.runtime.completions().counter();
  }

  /** By the actor that is the loop. */
  private static void complete(CompletionQueue queue) {
    STAGE.operations.core.signal(queue, 1);
    STAGE.turn();
  }

  /** By the actor that is the loop. */
  private static void fire(SynchronizerImpl synchronizer) {
    STAGE.become();
    synchronizer.status(Codes.DONE, 0, Operations.PEER, 0, 0, 0, 0);
    STAGE.turn();
  }

  private static <T> Seen<T> asked(org.reactivestreams.Publisher<T> publisher) {
    Seen<T> seen = new Seen<>();
    STAGE.asLoop(
        () -> {
          publisher.subscribe(seen);
          seen.subscription.request(1);
          STAGE.turns(1);
        });
    return seen;
  }

  /** Lets the loop end it; returns what is left over, and must be 0. */
  private static int end(Disposable object) {
    object.dispose();
    return STAGE.leftOver() + STAGE.operations.core.freedTwice.get();
  }

  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "delivered")
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "kept for the next subscriber")
  @State
  public static class CancelAndCompletion {
    private final CompletionQueue queue = queue();
    private final Seen<Completion> seen = asked(queue.completions());

    @Actor
    public void loop() {
      complete(queue);
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(II_Result result) {
      int left = STAGE.leftOver();
      result.r2 = (int) queue.length();
      result.r1 = seen.elements.get();
      result.r2 += 100 * (left + seen.ends.get() + end(queue));
    }
  }

  @JCStressTest
  @Outcome(id = "2, 0", expect = Expect.ACCEPTABLE, desc = "both delivered")
  @State
  public static class RequestAndCompletion {
    private final CompletionQueue queue = queue();
    private final Seen<Completion> seen = asked(queue.completions());

    @Actor
    public void loop() {
      complete(queue);
      complete(queue);
    }

    @Actor
    public void subscriber() {
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(II_Result result) {
      int left = STAGE.leftOver();
      result.r2 = (int) queue.length();
      result.r1 = seen.elements.get();
      result.r2 += 100 * (left + seen.ends.get() + end(queue));
    }
  }

  /** Another loop looks, while the home loop drains what it saw before. */
  @JCStressTest
  @Outcome(id = "2, 0", expect = Expect.ACCEPTABLE, desc = "no look is lost")
  @State
  public static class LookAndDrain {
    private final CompletionQueue queue = queue();
    private final Seen<Completion> seen = asked(queue.completions());

    public LookAndDrain() {
      STAGE.asLoop(() -> seen.subscription.request(1));
    }

    private void round() {
      STAGE.become();
      STAGE.loop.runRound(); // no turn, which would look by itself
    }

    @Actor
    public void loop() {
      round();
      round();
    }

    @Actor
    public void other() {
      for (int i = 0; i < 2; i++) {
        STAGE.operations.core.signal(queue, 1);
        STAGE.operations.runtime.objects.look();
      }
    }

    @Arbiter
    public void judge(II_Result result) {
      STAGE.asLoop(() -> STAGE.loop.runRound());
      result.r1 = seen.elements.get();
      result.r2 = 100 * (STAGE.leftOver() + seen.ends.get() + end(queue));
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the end")
  @State
  public static class DisposeAndSubscribe {
    private final CompletionQueue queue = queue();
    private final Seen<Completion> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      queue.dispose();
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      queue.completions().subscribe(seen);
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = end(queue);
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "freed once")
  @State
  public static class DisposeAndDispose {
    private final CompletionQueue queue = queue();

    @Actor
    public void one() {
      queue.dispose();
    }

    @Actor
    public void other() {
      queue.dispose();
    }

    @Arbiter
    public void judge(org.openjdk.jcstress.infra.results.I_Result result) {
      result.r1 = end(queue);
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "the first got it")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "the next got it")
  @State
  public static class ChangeAndFiring {
    private final SynchronizerImpl synchronizer = synchronizer();
    private final Seen<List<Completion>> first = asked(synchronizer.next());
    private final Seen<List<Completion>> next = new Seen<>();

    @Actor
    public void loop() {
      fire(synchronizer);
    }

    @Actor
    public void subscribers() {
      first.subscription.cancel();
      synchronizer.next().subscribe(next); // a cancelled one makes room at once
      next.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      STAGE.leftOver();
      result.r1 = first.elements.get();
      result.r2 = next.elements.get();
      int late = first.afterTheEnd.get() + next.afterTheEnd.get();
      result.r3 = late + end(synchronizer); // whoever got nothing is told of the end
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the end")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "got it before the end")
  @State
  public static class DisposeAndFiring {
    private final SynchronizerImpl synchronizer = synchronizer();
    private final Seen<List<Completion>> seen = asked(synchronizer.next());

    @Actor
    public void loop() {
      fire(synchronizer);
    }

    @Actor
    public void other() {
      ((Synchronizer) synchronizer).dispose();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = end(synchronizer) + seen.afterTheEnd.get();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "heard of it")
  @State
  public static class WaitAndSet {
    private final Counter counter = counter();
    private final Seen<Long> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      counter.reaches(1).subscribe(seen);
      seen.subscription.request(1);
      STAGE.turn();
    }

    @Actor
    public void other() {
      counter.set(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
      result.r3 = end(counter) + seen.afterTheEnd.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before")
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled at the element")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "ended before the cancel")
  @State
  public static class CancelAndCount {
    private final Counter counter = counter();
    private final Seen<Long> seen = asked(counter.reaches(1));

    @Actor
    public void loop() {
      STAGE.operations.core.signal(counter, 1);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
      result.r3 = end(counter) + seen.afterTheEnd.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the end")
  @State
  public static class DisposeAndWait {
    private final Counter counter = counter();
    private final Seen<Long> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      counter.dispose();
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      counter.reaches(1).subscribe(seen);
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = end(counter);
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
    }
  }
}
