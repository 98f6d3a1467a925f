/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.PostResult;
import io.lci.am.SenderOptions;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** A failure that is to end a routed flux: whatever the core has accepted has its result first. */
class StopOnErrorTest {
  private static final int NOWHERE = 99;
  private static final int BEYOND_A_PACKET = 10_000;

  private final Operations operations = new Operations();
  private final List<Integer> sent = new ArrayList<>();
  private final List<Integer> discarded = new ArrayList<>();
  private final List<Throwable> errors = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  /** The second element fails. */
  private void route(boolean timed) {
    SenderOptions options = SenderOptions.builder().stopOnError(true).window(4).build();
    operations
        .runtime
        .sender(
            Operations.PORT,
            timed ? options.mutate().deadline(Duration.ofSeconds(10)).build() : options)
        .route(
            Flux.range(0, 2).concatWith(Flux.never()),
            n -> n == 0 ? Operations.PEER : NOWHERE,
            (n, out) -> out.putBytes(new byte[BEYOND_A_PACKET], 0, BEYOND_A_PACKET))
        .doOnDiscard(Integer.class, discarded::add)
        .map(PostResult::item)
        .subscribe(sent::add, errors::add);
    operations.turns(3);
  }

  @ParameterizedTest(name = "with a deadline: {0}")
  @ValueSource(booleans = {false, true})
  void whatWasPostedHasItsResultFirst(boolean timed) {
    operations.answer(Codes.POSTED);
    route(timed);
    assertThat(operations.inSlots()).isEqualTo(1);
    assertThat(errors).as("the first is under way").isEmpty();
    operations.endAll(Codes.DONE);
    assertThat(sent).containsExactly(0);
    assertThat(errors).singleElement().asString().contains("rank 99");
    assertThat(discarded).containsExactly(1);
  }

  @ParameterizedTest(name = "with a deadline: {0}")
  @ValueSource(booleans = {false, true})
  void whatWaitsIsDiscarded(boolean timed) {
    operations.answer(Codes.RETRY_NOMEM);
    route(timed);
    assertThat(sent).isEmpty();
    assertThat(errors).singleElement().asString().contains("rank 99");
    assertThat(discarded).containsExactlyInAnyOrder(0, 1);
    assertThat(operations.parked()).isZero();
  }
}
