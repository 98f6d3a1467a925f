/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** A rank dies at any time of a call that drains all ranks. The seed is printed. */
class DrainedDeathTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Port PORT = Port.of(64, "death while drained");
  private static final int[] SIZES = {8, 100, 500, 7_000, 20_000};
  private static final PeerEvent DEAD = new PeerEvent(2, PeerEvent.State.FAILED);
  private static final int ROUNDS = 20;

  /** The others end it, with or without that rank. */
  // Proves: U10
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void theOthersEndTheCall(String peerMemory) {
    long seed = System.nanoTime();
    System.out.println("DrainedDeathTest: seed " + seed);
    Random random = new Random(seed);
    LciOptions options =
        LciOptions.builder().loops(2).devices(2).attribute("peer_memory", peerMemory).build();
    for (int round = 0; round < ROUNDS; round++) {
      LciTestJob job = LciTestJob.start(4, options);
      try (job) {
        dieWithin(random.nextInt(3_000_000), job);
      }
      for (LciRuntime lci : job.ranks()) {
        if (lci.rank() != DEAD.rank()) {
          assertThat(LciLeakCheck.faultsOf("rank " + lci.rank(), lci.snapshot())).isEmpty();
        }
      }
    }
  }

  private static void dieWithin(long nanos, LciTestJob job) {
    job.ranks().forEach(lci -> lci.inbox(PORT));
    List<Mono<List<PeerEvent>>> calls = new ArrayList<>();
    for (LciRuntime lci : job.ranks()) {
      for (int n = 0; n < 50; n++) {
        Payload payload = Payload.of(new byte[SIZES[n % SIZES.length]]);
        int device = n % 2;
        lci.post(Op.am((lci.rank() + n) % 4, PORT, payload).advanced(a -> a.device(device)))
            .subscribe(null, error -> {});
      }
      Mono<List<PeerEvent>> call = lci.drainedEverywhere().cache();
      call.subscribe(null, error -> {});
      calls.add(call);
    }
    long until = System.nanoTime() + nanos;
    while (System.nanoTime() - until < 0) {
      Thread.onSpinWait();
    }
    job.rank(DEAD.rank()).abort();
    calls.remove(DEAD.rank());
    for (Mono<List<PeerEvent>> call : calls) {
      assertThat(call.block(LIMIT)).isSubsetOf(DEAD);
    }
  }
}
