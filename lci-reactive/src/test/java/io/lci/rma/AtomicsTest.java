/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.AtomicOp;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.error.LciException;
import io.lci.error.MemoryClosedException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Atomic operations on remote longs, by this rank and by the help of the owner. [C23] */
@ExtendWith(LciLeakCheck.class)
class AtomicsTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static LciOptions options(String rma, String chaos) {
    return LciOptions.builder().attribute("rma", rma).attribute("chaos", chaos).build();
  }

  private static void set(MemoryRegion region, long offset, long value) {
    region.view(offset, 8).putLong(0, value);
  }

  private static long get(MemoryRegion region, long offset) {
    return region.view(offset, 8).getLong(0);
  }

  // Proves: C23
  // On: inproc
  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "messages,seed=1"})
  void theLongChangesAndItsValueComes(String rma, String chaos) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, chaos))) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      set(region, 8, 5);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      assertThat(remote.addAndGet(8, 7).block(LIMIT)).isEqualTo(12);
      assertThat(remote.addAndGet(8, -13).block(LIMIT)).isEqualTo(-1);
      assertThat(remote.getAndSet(8, Long.MAX_VALUE).block(LIMIT)).isEqualTo(-1);
      assertThat(remote.addAndGet(8, 1).block(LIMIT)).isEqualTo(Long.MIN_VALUE);
      assertThat(remote.compareAndSet(8, 5, 6).block(LIMIT)).isFalse();
      assertThat(get(region, 8)).isEqualTo(Long.MIN_VALUE);
      assertThat(remote.compareAndSet(8, Long.MIN_VALUE, 6).block(LIMIT)).isTrue();
      assertThat(get(region, 8)).isEqualTo(6);
      assertThat(get(region, 0)).isZero();
      assertThat(get(region, 16)).isZero();
    }
  }

  /** The tag of a completion is the value before, done or posted. */
  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void theCompletionHasTheValueBefore(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(8);
      set(region, 0, 40);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      long before = 40;
      for (Op op :
          List.of(
              Op.getAndAdd(remote, 0, 2),
              Op.getAndAdd(remote, 0, 2).advanced(a -> a.allowDone(false)),
              Op.getAndAdd(remote, 0, 2).advanced(a -> a.allowRetry(false)),
              Op.getAndAdd(remote, 0, 2).advanced(a -> a.allowDone(false).allowRetry(false)))) {
        Completion ended = lci.post(op.userContext(17)).block(LIMIT);
        assertThat(ended.tag()).isEqualTo(before);
        assertThat(ended.rank()).isEqualTo(1);
        assertThat(ended.size()).isEqualTo(8);
        assertThat(ended.message()).isNull();
        assertThat(ended.userContext()).isEqualTo(17);
        before += 2;
      }
      assertThat(lci.post(Op.getAndSet(remote, 0, 1)).block(LIMIT).tag()).isEqualTo(48);
      assertThat(lci.post(Op.compareAndExchange(remote, 0, 2, 3)).block(LIMIT).tag()).isEqualTo(1);
      assertThat(lci.post(Op.compareAndExchange(remote, 0, 1, 3)).block(LIMIT).tag()).isEqualTo(1);
      assertThat(get(region, 0)).isEqualTo(3);
    }
  }

  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void targetsAreSignalledOnce(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(8);
      set(region, 0, 9);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      CompletionQueue queue = lci.completions().queue(QueueOptions.defaults());
      Counter counter = lci.completions().counter();
      Mono<Completion> told = queue.completions().next();
      Completion ended = lci.post(Op.getAndAdd(remote, 0, 1).completeTo(queue)).block(LIMIT);
      assertThat(ended.tag()).isEqualTo(9);
      assertThat(told.block(LIMIT).tag()).isEqualTo(9);
      lci.post(Op.getAndAdd(remote, 0, 1).completeTo(counter)).block(LIMIT);
      counter.reaches(1).block(LIMIT);
      assertThat(get(region, 0)).isEqualTo(11);
    }
  }

  /** All ranks at once, each by many operations: no value is seen twice, and the sum is exact. */
  // Proves: C23
  // On: inproc
  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "messages,seed=3"})
  void manyAtOnceHappenOnce(String rma, String chaos) {
    int each = 5_000;
    try (LciTestJob job = LciTestJob.start(3, options(rma, chaos))) {
      MemoryRegion region = job.rank(2).memory().allocate(8);
      set(region, 0, 0);
      List<Long> seen =
          Flux.range(0, 3)
              .flatMap(
                  rank -> {
                    RemoteMemory remote = job.rank(rank).memory().remote(2, region.handle());
                    return Flux.range(0, each).flatMap(n -> remote.addAndGet(0, 1), 64);
                  })
              .sort()
              .collectList()
              .block(LIMIT);
      assertThat(seen).isEqualTo(LongStream.rangeClosed(1, 3L * each).boxed().toList());
      assertThat(get(region, 0)).isEqualTo(3L * each);
    }
  }

  /** More of them than the core has under way at a time, as a stream of operations. */
  @Test
  void aStreamOfOperations() {
    int count = 2_000;
    try (LciTestJob job = LciTestJob.start(2, options("messages", ""))) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(8);
      set(region, 0, 0);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      Flux<Op> ops = Flux.range(0, count).map(n -> Op.getAndAdd(remote, 0, 1));
      List<Long> seen =
          lci.post(ops, PostOptions.defaults())
              .map(result -> result.completion().tag())
              .sort()
              .collectList()
              .block(LIMIT);
      assertThat(seen).isEqualTo(LongStream.range(0, count).boxed().toList());
    }
  }

  @Test
  void badArgumentsAreRefusedAtTheCaller() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(20);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      assertThatThrownBy(() -> remote.addAndGet(16, 1))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> remote.getAndSet(-8, 1))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> remote.compareAndSet(4, 0, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("multiple of 8: 4");
      AtomicOp op = Op.getAndAdd(remote, 8, 1);
      assertThat(op).hasToString("atomic at rank 1");
      assertThat(op.kind()).isEqualTo(Op.Kind.ATOMIC);
      assertThat(op.change()).isEqualTo(Op.Atomic.GET_AND_ADD);
      assertThat(op.operand()).isEqualTo(1);
      assertThat(Op.compareAndExchange(remote, 8, 3, 4).deadline(LIMIT).expected()).isEqualTo(3);
      assertThatThrownBy(() -> job.rank(1).post(op))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another runtime");
    }
  }

  /** The handle does not tell where a region starts. */
  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void aRegionThatStartsBetweenLongsIsRefused(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      ByteBuffer own = ByteBuffer.allocateDirect(64).alignedSlice(8);
      MemoryRegion region = job.rank(1).memory().register(own.slice(4, 32));
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      assertThatThrownBy(() -> remote.addAndGet(8, 1).block(LIMIT))
          .isInstanceOf(LciException.class);
      assertThat(own.getLong(8)).isZero();
      region.dispose();
    }
  }

  @ParameterizedTest(name = "rma {0}")
  @CsvSource({"auto", "messages"})
  void aRegionThatHasEndedIsNotChanged(String rma) {
    try (LciTestJob job = LciTestJob.start(2, options(rma, ""))) {
      MemoryRegion freed = job.rank(1).memory().allocate(64);
      RemoteMemory remote = job.rank(0).memory().remote(1, freed.handle());
      freed.dispose();
      MemoryRegion next = job.rank(1).memory().allocate(64);
      set(next, 0, 77);
      for (Mono<?> late :
          List.of(remote.addAndGet(0, 1), remote.getAndSet(0, 1), remote.compareAndSet(0, 77, 1))) {
        assertThatThrownBy(() -> late.block(LIMIT)).isInstanceOf(MemoryClosedException.class);
      }
      assertThat(get(next, 0)).isEqualTo(77);
    }
  }

  @Test
  void anOwnerThatDiesIsATypedError() {
    try (LciTestJob job = LciTestJob.start(2, options("messages", ""))) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      remote.addAndGet(0, 1).block(LIMIT);
      job.rank(1).abort();
      job.rank(1).onClose().block(LIMIT);
      assertThatThrownBy(() -> remote.addAndGet(0, 1).block(LIMIT))
          .isInstanceOfAny(
              PeerFailedException.class,
              PeerLeftException.class,
              MemoryClosedException.class); // this rank may see the end of the region first
    }
  }
}
