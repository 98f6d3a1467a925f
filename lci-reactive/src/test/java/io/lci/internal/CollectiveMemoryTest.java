/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.collective.Group;
import io.lci.collective.ReduceOp;
import io.lci.error.CollectiveFailedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A member without memory for its part of a call ends it on all. */
@ExtendWith(LciLeakCheck.class)
class CollectiveMemoryTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static ByteBuffer none(int bytes) {
    throw new OutOfMemoryError("on purpose");
  }

  private static void memory(RuntimeImpl lci, IntFunction<ByteBuffer> allocation) {
    EventLoop loop = lci.loops.all.get(0);
    Mono.fromRunnable(() -> lci.loops.outboxes.get(0).pool.allocation = allocation)
        .subscribeOn(loop.scheduler())
        .block(LIMIT);
  }

  // Proves: J15
  // On: inproc
  @Test
  void theOthersAreTold() {
    try (LciTestJob job = LciTestJob.start(3)) {
      memory((RuntimeImpl) job.rank(1), CollectiveMemoryTest::none);
      List<Throwable> errors =
          Flux.fromIterable(job.ranks())
              .flatMapSequential(CollectiveMemoryTest::failed)
              .collectList()
              .block(LIMIT);
      assertThat(errors.get(1))
          .isInstanceOf(ResourceExhaustedException.class)
          .hasMessageContaining("MaxDirectMemorySize");
      for (int rank : new int[] {0, 2}) {
        assertThat(errors.get(rank))
            .isInstanceOf(CollectiveFailedException.class)
            .hasMessageContainingAll("allReduce of a group rank 1", "error_no_memory");
      }
      memory((RuntimeImpl) job.rank(1), ByteBuffer::allocateDirect);
      Flux.fromIterable(job.ranks())
          .flatMap(lci -> lci.world().context(1).allReduce(new long[1000], ReduceOp.SUM))
          .blockLast(LIMIT);
    }
  }

  private static Mono<Throwable> failed(LciRuntime lci) {
    Group world = lci.world();
    return world
        .allReduce(new long[1000], ReduceOp.SUM)
        .<Throwable>map(sum -> new IllegalStateException("no error"))
        .onErrorResume(Mono::just);
  }
}
