/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.error.MemoryClosedException;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The snippets of {@code docs/guide/rma.md}. */
@ExtendWith(LciLeakCheck.class)
class RmaGuideTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port WRITTEN = Port.of(31, "written");

  @Test
  void everyRankOpensTheRegionsOfAll() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> other = reads(job.rank(1), 1);
      assertThat(both(reads(job.rank(0), 0), other)).isEqualTo(100L);
      // Rank 1 wrote into the region of rank 0, and the other way round.
    }
  }

  private static Mono<Long> reads(LciRuntime lci, int rank) {
    // show: exchange
    MemoryRegion mine = lci.memory().allocate(1 << 20);
    int next = (lci.rank() + 1) % lci.size();
    Mono<Void> written =
        lci.memory()
            .exchange(mine) // every rank takes part
            .flatMap(all -> all.get(next).put(0, Payload.ofLong(100 + lci.rank())))
            .then(lci.barrier()); // now every rank's data is in place
    // end
    return written.then(Mono.fromSupplier(() -> mine.view(0, 8).getLong(0) - (1 - rank)));
  }

  @Test
  void programMemory() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime owner = job.rank(1);
      // show: register
      ByteBuffer table = ByteBuffer.allocateDirect(1 << 16);
      MemoryRegion region = owner.memory().register(table);
      // end
      RemoteMemory memory = job.rank(0).memory().remote(1, region.handle());
      memory.put(8, Payload.ofLong(5)).block(LIMIT);
      assertThat(region.view(8, 8).getLong(0)).isEqualTo(5);
      region.dispose();
    }
  }

  // Proves: C23
  // On: inproc
  @Test
  void noTwoGetTheSameTicket() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime owner = job.rank(1);
      // show: ticket
      MemoryRegion counters = owner.memory().allocate(64);
      RemoteMemory shared = lci.memory().remote(1, counters.handle());
      Mono<Long> ticket = shared.addAndGet(0, 1); // no other rank gets the same number
      // end
      counters.view(0, 8).putLong(0, 0);
      assertThat(ticket.block(LIMIT)).isEqualTo(1);
      assertThat(owner.memory().remote(1, counters.handle()).addAndGet(0, 1).block(LIMIT))
          .isEqualTo(2);
      assertThat(ticket.block(LIMIT)).isEqualTo(3);
    }
  }

  @Test
  void theSignalSaysThatTheDataIsThere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime owner = job.rank(1);
      // show: signal-owner
      MemoryRegion slots = owner.memory().allocate(64 * 4096);
      Flux<Long> values =
          owner
              .inbox(WRITTEN) // the tag says which slot was written
              .receive(m -> slots.view(m.tag() * 4096, 4096).getLong(0));
      // end
      RemoteMemory memory = lci.memory().remote(1, slots.handle());
      // show: signal-writer
      Mono<Void> written =
          Flux.range(0, 64)
              .flatMap(
                  slot -> memory.putWithSignal(slot * 4096L, Payload.ofLong(slot), WRITTEN, slot),
                  8)
              .then();
      // end
      Mono<Long> sum = values.take(64).reduce(0L, Long::sum);
      assertThat(both(sum, written)).isEqualTo(64 * 63 / 2);
      slots.dispose();
    }
  }

  @Test
  void readingInPlace() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(1 << 16);
      region.view(4096, 8).putLong(0, 77);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      // show: get
      LciBuffer page = lci.memory().buffer(4096); // used again and again
      Mono<Long> first =
          memory.get(4096, page).then(Mono.fromSupplier(() -> page.view().getLong(0)));
      // end
      assertThat(first.block(LIMIT)).isEqualTo(77);
      region.dispose();
    }
  }

  @Test
  void deadlineAndOtherLoops() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(4096);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      // show: deadline
      Mono<Completion> written =
          lci.post(Op.put(memory, 0, Payload.ofLong(1)).deadline(Duration.ofSeconds(5)));
      // end
      assertThat(written.block(LIMIT).size()).isEqualTo(8);
      region.dispose();
    }
  }

  @Test
  void anEndedRegion() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(4096);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      region.dispose();
      // show: ended
      Mono<byte[]> bytes =
          memory
              .get(0, 8)
              .onErrorResume(MemoryClosedException.class, gone -> Mono.empty()); // look elsewhere
      // end
      assertThat(bytes.blockOptional(LIMIT)).isEmpty();
      assertThatThrownBy(() -> memory.get(4090, 8).block(LIMIT))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  /** Subscribes both; returns what the first brought. */
  private static <T> T both(Mono<T> first, Mono<?> second) {
    return Mono.zip(first, second.then(Mono.just(true))).block(LIMIT).getT1();
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("rma.md", RmaGuideTest.class, 8);
  }
}
