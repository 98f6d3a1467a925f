/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.scheduler.Schedulers;

/** Subscribers on virtual threads, where the JDK has them. */
@ExtendWith(LciLeakCheck.class)
class VirtualThreadTest {
  private static final Port PORT = Port.of(62, "virtual");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static @Nullable ExecutorService virtual;

  /** Null before JDK 21. */
  private static @Nullable ExecutorService virtualThreads() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException e) {
      return null;
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e);
    }
  }

  @BeforeAll
  static void skipWithoutThem() {
    virtual = virtualThreads();
    if (virtual == null) {
      String why = "no virtual threads in Java " + Runtime.version().feature();
      System.out.println("VirtualThreadTest: skipped, " + why);
      Assumptions.abort(why);
    }
  }

  @AfterAll
  static void shutdown() {
    if (virtual != null) {
      virtual.shutdown();
    }
  }

  private static ExecutorService virtual() {
    return Objects.requireNonNull(virtual);
  }

  /** Each blocks for its operations as it likes: it is not a loop's thread. */
  @Test
  void thousandsBlockForTheirOperations() throws Exception {
    int threads = 2_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicLong sum = new AtomicLong();
      job.rank(1).inbox(PORT).handle(m -> sum.addAndGet(m.getInt(0)));
      List<Future<Long>> received = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int tag = i;
        received.add(
            virtual().submit(() -> job.rank(1).tagged().receive(0, tag).block(LIMIT).getLong(0)));
        virtual()
            .submit(
                () -> {
                  job.rank(0).sender(PORT).send(1, Payload.ofInt(1)).block(LIMIT);
                  job.rank(0).tagged().send(1, tag, Payload.ofLong(tag)).block(LIMIT);
                });
      }
      for (int i = 0; i < threads; i++) {
        assertThat(received.get(i).get(60, TimeUnit.SECONDS)).isEqualTo(i);
      }
      await().atMost(LIMIT).until(() -> sum.get() == threads);
    }
  }

  /** Completions may be signalled there. */
  @Test
  void signalsComeWhereTheyAreAskedFor() {
    try (LciTestJob job = LciTestJob.start(1)) {
      String where =
          job.rank(0)
              .post(
                  Op.am(0, PORT, Payload.empty())
                      .signalOn(Schedulers.fromExecutorService(virtual())))
              .map(c -> Thread.currentThread().toString())
              .block(LIMIT);
      assertThat(where).startsWith("VirtualThread");
    }
  }
}
