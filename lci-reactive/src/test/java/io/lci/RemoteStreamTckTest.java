/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.stream.Codec;
import io.lci.testing.LciTestJob;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import reactor.core.publisher.Flux;

/** The rules of Reactive Streams, held by the Flux of a stream of another rank. [Y2, Y4] */
public class RemoteStreamTckTest extends PublisherVerification<Integer> {
  private static final long DEADLINE_MILLIS = 30_000;
  private static final long SILENCE_MILLIS = 50;

  private final AtomicInteger names = new AtomicInteger();
  private LciTestJob job;
  private LciTestJob closed;

  /** Deadlines are long, as they only end what hangs. */
  public RemoteStreamTckTest() {
    super(new TestEnvironment(DEADLINE_MILLIS, SILENCE_MILLIS, SILENCE_MILLIS));
  }

  @BeforeClass
  public void open() {
    job = LciTestJob.start(2);
    closed = LciTestJob.start(1);
    closed.rank(0).streams();
    closed.close();
  }

  @AfterClass
  public void close() {
    job.close();
  }

  @Override
  public Publisher<Integer> createPublisher(long elements) {
    String name = "range " + names.incrementAndGet();
    job.rank(1).streams().publish(name, Flux.range(0, (int) elements), Codec.INT);
    return job.rank(0).streams().subscribe(1, name, Codec.INT);
  }

  @Override
  public Publisher<Integer> createFailedPublisher() {
    return closed.rank(0).streams().subscribe(0, "any", Codec.INT);
  }

  @Override
  public long maxElementsFromPublisher() {
    return 2_000;
  }
}
