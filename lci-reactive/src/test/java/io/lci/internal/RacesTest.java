/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/**
 * Another thread requests and cancels while the loop posts, is refused, hears the end and the death
 * of the peer: whoever is first, no signal comes twice and nothing is held. Every kind of
 * operation, refused at random; each order of two steps is raced in {@code src/jcstress}.
 */
@Timeout(600) // only ends what hangs
class RacesTest {
  private static final int ROUNDS =
      Math.max(500, Integer.getInteger("lci.test.operations", 0) / 500);
  private static final int LONGEST_SPIN = 2_000;
  private static final int[] ANSWERS = {Codes.DONE, Codes.POSTED, Codes.POSTED, Codes.RETRY_NOMEM};

  private final Operations operations = new Operations();
  private final ExecutorService elsewhere = Executors.newSingleThreadExecutor();
  private final Random random = new Random(17);

  @AfterEach
  void close() {
    elsewhere.shutdown();
    operations.close();
  }

  static Stream<Arguments> all() {
    return Stream.of(Kind.values())
        .flatMap(kind -> Stream.of(How.values()).map(how -> Arguments.of(kind, how)));
  }

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("all")
  void requestCancelEndAndDeath(Kind kind, How how) throws Exception {
    operations.core.script =
        submitted -> {
          int code = ANSWERS[random.nextInt(ANSWERS.length)];
          boolean byRecord = submitted.op() == Codes.OP_RECV || submitted.op() == Codes.OP_BARRIER;
          return operations.remembered(submitted, byRecord && code == 0 ? Codes.POSTED : code);
        };
    operations.turns(1);
    for (int round = 0; round < ROUNDS; round++) {
      Signals signals = new Signals();
      Op op = operations.op(kind, round);
      Publisher<?> publisher = operations.publisher(how, op, PostOptions.defaults());
      Flux.from(publisher).subscribe(signals);
      int before = random.nextInt(LONGEST_SPIN);
      int between = random.nextInt(LONGEST_SPIN);
      boolean cancels = random.nextInt(4) > 0;
      Future<?> acting =
          elsewhere.submit(
              () -> {
                spin(before);
                signals.subscription.request(1);
                spin(between);
                if (cancels) {
                  signals.subscription.cancel();
                }
              });
      while (!acting.isDone() || (!cancels && signals.ends.get() == 0)) {
        operations.core.generation++;
        operations.core.ring();
        operations.turns(1);
        if (random.nextInt(3) == 0) {
          operations.endAll(random.nextBoolean() ? Codes.DONE : Codes.ERR_PEER_FAILED);
        }
      }
      acting.get();
      operations.turns(3);
      operations.endAll(Codes.DONE);
      assertThat(signals.elements.get()).isLessThanOrEqualTo(1);
      assertThat(signals.ends.get()).isLessThanOrEqualTo(1);
      assertThat(operations.parked()).isZero();
      assertThat(operations.inSlots()).isZero();
    }
  }

  private static void spin(int turns) {
    for (int i = 0; i < turns; i++) {
      Thread.onSpinWait();
    }
  }

  private static final class Signals implements CoreSubscriber<Object> {
    final AtomicInteger elements = new AtomicInteger();
    final AtomicInteger ends = new AtomicInteger();
    volatile Subscription subscription;

    @Override
    public void onSubscribe(Subscription s) {
      subscription = s;
    }

    @Override
    public void onNext(Object value) {
      elements.incrementAndGet();
    }

    @Override
    public void onError(Throwable error) {
      ends.incrementAndGet();
    }

    @Override
    public void onComplete() {
      ends.incrementAndGet();
    }
  }
}
