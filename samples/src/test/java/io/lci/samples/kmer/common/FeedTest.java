/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

@Timeout(30)
class FeedTest {
  private static Feed<Integer> numbers(int count, CompletableFuture<String> end) {
    return new Feed<>(
        feed ->
            Schedulers.boundedElastic()
                .schedule(
                    () -> {
                      try {
                        for (int i = 0; i < count; i++) {
                          feed.put(i);
                        }
                        feed.complete();
                        end.complete("done");
                      } catch (CancellationException e) {
                        end.complete("cancelled");
                      } catch (InterruptedException e) {
                        end.completeExceptionally(e);
                      }
                    }));
  }

  @Test
  void bringsWhatIsAskedForAndNoMore() throws Exception {
    CompletableFuture<String> end = new CompletableFuture<>();
    List<Integer> got = new ArrayList<>();
    StepVerifier.create(Flux.from(numbers(5, end)).doOnNext(got::add), 0)
        .thenRequest(2)
        .expectNext(0, 1)
        .thenRequest(3)
        .expectNext(2, 3, 4)
        .verifyComplete();
    assertThat(end.get(10, TimeUnit.SECONDS)).isEqualTo("done");
    assertThat(got).hasSize(5);
  }

  @Test
  void aCancelFreesTheThreadThatWaits() throws Exception {
    CompletableFuture<String> end = new CompletableFuture<>();
    StepVerifier.create(numbers(5, end), 1).expectNext(0).thenCancel().verify();
    assertThat(end.get(10, TimeUnit.SECONDS)).isEqualTo("cancelled");
  }

  @Test
  void beginsWithTheFirstRequestAndTellsOfAFailure() {
    IllegalStateException reason = new IllegalStateException("broken");
    StepVerifier.create(new Feed<Integer>(feed -> feed.fail(reason)), 0)
        .expectSubscription()
        .thenRequest(1)
        .verifyErrorMessage("broken");
  }
}
