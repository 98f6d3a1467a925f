/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.Poster;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.Counter;
import io.lci.error.LciException;
import io.lci.error.MemoryClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Put and get, with and without signal, by copies and by the help of the owner. [C4-C7] */
@ExtendWith(LciLeakCheck.class)
class RemoteMemoryTest {
  private static final Port DONE = Port.of(61, "data is there");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int BYTES = 1 << 20;

  /** Ways that the data may go, with and without disturbance. */
  private static LciOptions options(String rma, String chaos) {
    return LciOptions.builder().attribute("rma", rma).attribute("chaos", chaos).build();
  }

  private static byte[] pattern(int size, int seed) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 + seed);
    }
    return bytes;
  }

  private static byte[] content(MemoryRegion region, long offset, int length) {
    byte[] bytes = new byte[length];
    region.view(offset, length).get(bytes);
    return bytes;
  }

  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "messages,seed=1", "messages,seed=2"})
  void whatIsPutIsThereAndIsRead(String rma, String chaos) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, chaos))) {
      MemoryRegion region = job.rank(1).memory().allocate(BYTES);
      for (int owner : new int[] {1}) {
        RemoteMemory remote = job.rank(0).memory().remote(owner, region.handle());
        assertThat(remote.size()).isEqualTo(BYTES);
        for (int size : new int[] {0, 1, 8, 32, 33, 64, 65, 192, 193, 8116, 8117, 65536, 500_000}) {
          long offset = 3L + size % 5;
          byte[] bytes = pattern(size, size);
          remote.put(offset, Payload.of(bytes)).block(LIMIT);
          assertThat(content(region, offset, size)).as("put of %d", size).isEqualTo(bytes);
          assertThat(remote.get(offset, size).block(LIMIT)).as("get of %d", size).isEqualTo(bytes);
        }
      }
    }
  }

  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void buffersAreNotCopiedAndRegisteredMemoryIsReached(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      ByteBuffer own = ByteBuffer.allocateDirect(BYTES);
      MemoryRegion region = job.rank(1).memory().register(own);
      assertThat(job.rank(1).snapshot().counter("memory_registered")).isEqualTo(own.capacity());
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      LciBuffer source = job.rank(0).memory().buffer(100_000);
      source.view().put(pattern(100_000, 7));
      remote.put(11, source).block(LIMIT);
      byte[] written = new byte[100_000];
      own.get(11, written);
      assertThat(written).isEqualTo(pattern(100_000, 7));
      LciBuffer target = job.rank(0).memory().buffer(100_000);
      remote.get(11, target).block(LIMIT);
      byte[] read = new byte[100_000];
      target.view().get(read);
      assertThat(read).isEqualTo(written);
      region.dispose();
      assertThat(job.rank(1).snapshot().counter("memory_registered")).isZero();
    }
  }

  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "auto,seed=3", "messages,seed=4"})
  void theSignalComesAfterTheData(String rma, String chaos) {
    int rounds = 200;
    try (LciTestJob job = LciTestJob.start(2, options(rma, chaos))) {
      MemoryRegion region = job.rank(1).memory().allocate(rounds * 1024L);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      Mono<Long> seen =
          job.rank(1)
              .inbox(DONE)
              .receive(
                  m -> {
                    assertThat(m.rank()).isZero();
                    assertThat(m.size()).isZero();
                    return m.tag();
                  })
              .take(rounds)
              .doOnNext(
                  n ->
                      assertThat(content(region, n * 1024, 1024))
                          .isEqualTo(pattern(1024, n.intValue())))
              .count();
      Flux<Void> puts =
          Flux.range(0, rounds)
              .flatMap(
                  n -> remote.putWithSignal(n * 1024L, Payload.of(pattern(1024, n)), DONE, n), 16);
      assertThat(Mono.zip(seen, puts.then(Mono.just(true))).block(LIMIT).getT1()).isEqualTo(rounds);
    }
  }

  @Test
  void theOwnerLearnsThatItsMemoryWasRead() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      region.view(0, 8).putLong(0, 4711);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      Mono<Long> told = job.rank(1).inbox(DONE).receive(m -> m.tag()).next();
      LciBuffer target = job.rank(0).memory().buffer(8);
      Mono<Void> read = remote.getWithSignal(0, target, DONE, 65_535);
      assertThat(Mono.zip(told, read.thenReturn(true)).block(LIMIT).getT1()).isEqualTo(65_535);
      assertThat(target.view().getLong()).isEqualTo(4711);
    }
  }

  @Test
  void nothingIsWrittenWhileThePortGivesNoCredit() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion region = job.rank(1).memory().allocate(8);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      Poster poster = job.rank(0).loops().get(0).poster();
      // The port is not open. One signal may be announced to it all the same, the next is refused.
      remote.putWithSignal(0, Payload.ofLong(1), DONE, 4).block(LIMIT);
      Op put = Op.put(remote, 0, Payload.ofLong(2)).signal(DONE, 5);
      AtomicReference<PostOutcome> outcome = new AtomicReference<>();
      Mono.fromRunnable(() -> outcome.set(poster.tryPost(put)))
          .subscribeOn(job.rank(0).loops().get(0).scheduler())
          .block(LIMIT);
      assertThat(outcome.get().isRetry()).isTrue();
      assertThat(region.view(0, 8).getLong(0)).isEqualTo(1);
      Mono<Void> waits = job.rank(0).post(put).then();
      Mono<List<Long>> told = job.rank(1).inbox(DONE).receive(m -> m.tag()).take(2).collectList();
      assertThat(Mono.zip(told, waits.thenReturn(true)).block(LIMIT).getT1())
          .containsExactlyInAnyOrder(4L, 5L);
      assertThat(region.view(0, 8).getLong(0)).isEqualTo(2);
    }
  }

  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void targetsAreSignalledOnce(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      Counter counter = job.rank(0).completions().counter();
      Completion put =
          job.rank(0).post(Op.put(remote, 8, Payload.ofLong(9)).completeTo(counter)).block(LIMIT);
      Completion get = job.rank(0).post(Op.get(remote, 8, 8).completeTo(counter)).block(LIMIT);
      assertThat(put.size()).isEqualTo(8);
      assertThat(get.message().toByteArray()).startsWith(9);
      assertThat(counter.get()).isEqualTo(2);
    }
  }

  /** More of them than the core has under way at a time, and no completion comes to the loop. */
  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "messages,seed=5"})
  void anyNumberMaySignalATarget(String rma, String chaos) {
    int count = 1_000;
    try (LciTestJob job = LciTestJob.start(2, options(rma, chaos))) {
      MemoryRegion region = job.rank(1).memory().allocate(8L * count);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      Counter counter = job.rank(0).completions().counter();
      Flux<Op> puts =
          Flux.range(0, count)
              .map(n -> Op.put(remote, 8L * n, Payload.ofLong(n)).completeTo(counter));
      assertThat(job.rank(0).post(puts, PostOptions.defaults()).count().block(LIMIT))
          .isEqualTo(count);
      counter.reaches(count).block(LIMIT);
      for (int n = 0; n < count; n++) {
        assertThat(region.view(8L * n, 8).getLong()).isEqualTo(n);
      }
    }
  }

  @Test
  void badArgumentsAreRefusedAtTheCaller() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(100);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      assertThatThrownBy(() -> remote.put(93, Payload.ofLong(1)))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> remote.get(-1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> remote.get(0, 101)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> Op.get(remote, 0, 1).signal(DONE, 65_536))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> region.view(99, 2)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> lci.memory().allocate(0))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> lci.memory().register(ByteBuffer.allocate(8)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> lci.memory().remote(2, region.handle()))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> lci.memory().remote(0, region.handle()))
          .isInstanceOf(LciException.class);
      byte[] broken = region.handle();
      broken[20] ^= 1;
      assertThatThrownBy(() -> lci.memory().remote(1, broken)).isInstanceOf(LciException.class);
      assertThatThrownBy(() -> lci.memory().remote(1, new byte[0]))
          .isInstanceOf(LciException.class);
      assertThatThrownBy(() -> job.rank(1).post(Op.put(remote, 0, Payload.empty())))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another runtime");
    }
  }

  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void useAfterTheEndIsATypedError(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      MemoryRegion freed = job.rank(1).memory().allocate(4096);
      RemoteMemory remote = job.rank(0).memory().remote(1, freed.handle());
      freed.disposeLater().block(LIMIT);
      freed.dispose();
      MemoryRegion next = job.rank(1).memory().allocate(4096);
      next.view(0, 8).putLong(0, 77);
      assertThatThrownBy(() -> remote.put(0, Payload.ofLong(1)).block(LIMIT))
          .isInstanceOf(MemoryClosedException.class);
      assertThatThrownBy(() -> remote.get(0, 8).block(LIMIT))
          .isInstanceOf(MemoryClosedException.class);
      assertThat(next.view(0, 8).getLong(0)).isEqualTo(77);
      // A rank that cannot see this opens it, and learns it at the first byte.
      assertThatThrownBy(
              () -> {
                RemoteMemory late = job.rank(0).memory().remote(1, freed.handle());
                late.put(0, Payload.ofLong(1)).block(LIMIT);
              })
          .isInstanceOf(MemoryClosedException.class);
      assertThatThrownBy(() -> freed.view(0, 1)).isInstanceOf(IllegalStateException.class);

      RemoteMemory closed = job.rank(0).memory().remote(1, next.handle());
      closed.dispose();
      closed.dispose();
      assertThatThrownBy(() -> closed.put(0, Payload.ofLong(1)).block(LIMIT))
          .isInstanceOf(MemoryClosedException.class);
    }
  }

  @Test
  void aViewOutlivesTheRuntime() {
    MemoryRegion region;
    ByteBuffer view;
    try (LciTestJob job = LciTestJob.start(1)) {
      region = job.rank(0).memory().allocate(4096);
      view = region.view(0, 4096);
      view.putLong(0, 5);
      assertThat(view.getLong(0)).isEqualTo(5);
    }
    assertThat(view.getLong(0)).isZero(); // anonymous memory now, and no crash
    region.dispose();
    assertThat(region.isDisposed()).isTrue();
  }

  @Test
  void manyOperationsAtOnceEndOnce() {
    int count = 20_000;
    try (LciTestJob job = LciTestJob.start(2, options("messages", ""))) {
      MemoryRegion region = job.rank(1).memory().allocate(8L * count);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      long ended =
          Flux.range(0, count)
              .flatMap(
                  n ->
                      remote
                          .put(8L * n, Payload.ofLong(n))
                          .thenReturn(n)
                          .flatMap(i -> remote.get(8L * i, 8))
                          .doOnNext(
                              b ->
                                  assertThat(
                                          ByteBuffer.wrap(b)
                                              .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                                              .getLong())
                                      .isEqualTo((long) n)),
                  64)
              .count()
              .block(LIMIT);
      assertThat(ended).isEqualTo(count);
    }
  }
}
