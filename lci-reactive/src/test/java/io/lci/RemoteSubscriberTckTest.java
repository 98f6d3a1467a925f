/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.stream.Codec;
import io.lci.testing.LciTestJob;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/**
 * The rules of Reactive Streams, held by what subscribes to a published stream for another rank.
 * [Y2]
 */
public class RemoteSubscriberTckTest extends SubscriberBlackboxVerification<Integer> {
  private static final long DEADLINE_MILLIS = 30_000;
  private static final long SILENCE_MILLIS = 50;

  private final AtomicInteger names = new AtomicInteger();
  private LciTestJob job;

  /** Deadlines are long, as they only end what hangs. */
  public RemoteSubscriberTckTest() {
    super(new TestEnvironment(DEADLINE_MILLIS, SILENCE_MILLIS, SILENCE_MILLIS));
  }

  @BeforeClass
  public void open() {
    job = LciTestJob.start(2);
  }

  @AfterClass
  public void close() {
    job.close();
  }

  /** The subscriber that rank 1 brings for a subscriber of rank 0, who asks for all. */
  @Override
  @SuppressWarnings("unchecked") // what subscribes to a publisher of integers
  public Subscriber<Integer> createSubscriber() {
    String name = "source " + names.incrementAndGet();
    CompletableFuture<Subscriber<Integer>> came = new CompletableFuture<>();
    Publisher<Integer> source = subscriber -> came.complete((Subscriber<Integer>) subscriber);
    job.rank(1).streams().publish(name, source, Codec.INT);
    job.rank(0)
        .streams()
        .subscribe(1, name, Codec.INT)
        .onErrorComplete() // of the test, and of the end
        .subscribe();
    return came.orTimeout(DEADLINE_MILLIS, TimeUnit.MILLISECONDS).join();
  }

  @Override
  public Integer createElement(int element) {
    return element;
  }
}
