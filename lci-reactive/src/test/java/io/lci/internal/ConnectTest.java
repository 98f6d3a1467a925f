/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.internal.runtime.Runtimes;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;

/** A runtime that comes when nobody waits for it any more. */
class ConnectTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static void await(CountDownLatch latch) throws InterruptedException {
    assertThat(latch.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void oneThatComesTooLateLeavesItsJob() throws InterruptedException {
    long job = Runtimes.createJob(2);
    LciOptions options = LciOptions.builder().build();
    CountDownLatch begun = new CountDownLatch(1);
    Disposable connecting =
        Runtimes.connect(
                () -> {
                  begun.countDown();
                  return Runtimes.create(options, job, 0);
                })
            .subscribe();
    await(begun);
    connecting.dispose(); // it waits for rank 1, and cannot be stopped
    try (LciRuntime other = Runtimes.create(options, job, 1)) {
      PeerEvent end = other.peerGone(0).block(LIMIT);
      assertThat(end).isNotNull();
      assertThat(end.rank()).isZero();
    } finally {
      Runtimes.freeJob(job);
    }
  }

  /** Whichever of the two is first, somebody closes it. */
  @Test
  void oneThatComesWhileItIsCancelledIsHandedOnOrClosed() throws InterruptedException {
    for (int round = 0; round < 2_000; round++) {
      AtomicInteger closed = new AtomicInteger();
      LciRuntime runtime =
          (LciRuntime)
              Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {LciRuntime.class},
                  (proxy, method, arguments) ->
                      method.getName().equals("dispose") ? closed.incrementAndGet() : null);
      CountDownLatch begun = new CountDownLatch(1);
      AtomicBoolean go = new AtomicBoolean();
      Handed handed = new Handed();
      Runtimes.connect(
              () -> {
                begun.countDown();
                while (!go.get()) {
                  Thread.onSpinWait();
                }
                return runtime;
              })
          .subscribe(handed);
      await(begun);
      go.set(true);
      for (int i = 0; i < round % 50; i++) {
        Thread.onSpinWait();
      }
      handed.subscription.cancel();
      org.awaitility.Awaitility.await()
          .pollInterval(Duration.ofMillis(1))
          .atMost(LIMIT)
          .until(() -> handed.count.get() + closed.get() > 0);
    }
  }

  private static final class Handed implements CoreSubscriber<LciRuntime> {
    private final AtomicInteger count = new AtomicInteger();
    private volatile Subscription subscription;

    @Override
    public void onSubscribe(Subscription s) {
      subscription = s;
      s.request(1);
    }

    @Override
    public void onNext(LciRuntime runtime) {
      count.incrementAndGet();
    }

    @Override
    public void onError(Throwable e) {
      throw new AssertionError(e);
    }

    @Override
    public void onComplete() {}
  }
}
