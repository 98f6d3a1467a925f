/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The snippets of {@code docs/guide/quick-start.md}, which are one program. */
@ExtendWith(LciLeakCheck.class)
class QuickStartGuideTest {
  @Test
  void theProgramRuns() {
    // show: job
    LciTestJob job = LciTestJob.start(2);
    LciRuntime first = job.rank(0); // in a program of its own: LciRuntime.create()
    LciRuntime second = job.rank(1);
    // end
    // show: inbox
    Port words = Port.of(1, "words");
    Flux<String> received = second.inbox(words).receive(m -> m.utf8());
    // end
    // show: send
    Mono<Void> sent =
        first
            .sender(words)
            .sendAll(1, Flux.just("to", "be", "or", "not"), (w, out) -> out.putUtf8(w));
    // end
    // show: run
    List<String> arrived =
        Mono.zip(received.take(4).collectSortedList(), sent.thenReturn(true))
            .block(Duration.ofSeconds(10))
            .getT1(); // [be, not, or, to]
    // end
    assertThat(arrived).containsExactly("be", "not", "or", "to");
    // show: slow
    AtomicInteger asked = new AtomicInteger();
    Flux<Integer> many = Flux.range(0, 1_000_000).doOnNext(n -> asked.incrementAndGet());
    Disposable sending =
        first.sender(words).sendAll(1, many, (n, out) -> out.putLong(n)).subscribe();
    // Nobody takes: upstream stops after what the inbox and the window hold.
    // end
    while (asked.get() < 1_024) {
      Thread.onSpinWait(); // the inbox alone holds as many
    }
    // show: rma
    MemoryRegion region = second.memory().allocate(4096);
    RemoteMemory memory = first.memory().remote(1, region.handle());
    byte[] bytes = memory.put(0, Payload.ofUtf8("hello")).then(memory.get(0, 5)).block();
    // end
    assertThat(bytes).asString().isEqualTo("hello");
    // show: close
    sending.dispose();
    Mono.when(first.barrier(), second.barrier()).block(); // each rank its own
    job.close();
    // end
    assertThat(asked.get()).isLessThan(1_024 + 2 * 256 + 1);
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("quick-start.md", QuickStartGuideTest.class, 7);
  }
}
