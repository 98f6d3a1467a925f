/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import java.time.Duration;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** The rules of Reactive Streams, held by the Flux of a completion queue. [U5] */
public class PublisherTckTest extends PublisherVerification<Completion> {
  private static final Port PORT = Port.of(39, "tck");
  private static final long DEADLINE_MILLIS = 30_000;
  private static final long SILENCE_MILLIS = 50;

  private LciRuntime lci;
  private Disposable handling;

  /** Deadlines are long, as they only end what hangs. */
  public PublisherTckTest() {
    super(new TestEnvironment(DEADLINE_MILLIS, SILENCE_MILLIS, SILENCE_MILLIS));
  }

  @BeforeClass
  public void open() {
    lci = LciRuntime.create();
    handling = lci.inbox(PORT).handle(m -> {});
  }

  @AfterClass
  public void close() {
    handling.dispose();
    lci.close();
  }

  /** A queue that has the elements; it would not complete by itself. */
  @Override
  public Publisher<Completion> createPublisher(long elements) {
    int count = (int) elements;
    CompletionQueue queue = lci.queue(QueueOptions.defaults().withKind(QueueOptions.Kind.LINKED));
    Flux.range(0, count)
        .flatMap(i -> lci.post(Op.am(0, PORT, Payload.empty()).tag(i).completeTo(queue)), 8)
        .blockLast(Duration.ofMillis(DEADLINE_MILLIS));
    return queue.completions().take(count);
  }

  @Override
  public Publisher<Completion> createFailedPublisher() {
    CompletionQueue queue = lci.queue(QueueOptions.defaults());
    queue.dispose();
    return queue.completions();
  }

  @Override
  public long maxElementsFromPublisher() {
    return 2_000;
  }
}
