/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.lci.LciInstrumentation;
import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopThread;
import io.lci.internal.runtime.Runtimes;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A runtime that cannot be made, or whose loops cannot all start, for want of threads. */
class LoopStartTest {
  private static final int LOOPS = 3;
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Error NO_THREADS = new OutOfMemoryError("unable to create native thread");

  private final NativeLibrary library = NativeLibrary.load();
  private final List<String> ends = Collections.synchronizedList(new ArrayList<>());
  private final List<String> told = Collections.synchronizedList(new ArrayList<>());
  private final List<Thread> started = new ArrayList<>();

  private int lanes;

  /** A call that fails, and the how manieth of its kind. */
  private String failing;

  private int callsUntilItFails;

  /** The real core, but it does not close under a lane that lives. */
  private final NativeCalls calls =
      (NativeCalls)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {NativeCalls.class},
              (proxy, method, arguments) -> {
                String name = method.getName();
                if (name.equals("laneFree") || name.equals("runtimeClose")) {
                  ends.add(name);
                }
                if (name.equals("laneCreate")) {
                  lanes++;
                }
                if (name.equals("runtimeClose")
                    && Collections.frequency(ends, "laneFree") != lanes) {
                  return 0;
                }
                if (name.equals(failing) && --callsUntilItFails == 0) {
                  return Codes.ERR_NO_MEMORY;
                }
                try {
                  return method.invoke(library.calls(), arguments);
                } catch (InvocationTargetException e) {
                  throw e.getTargetException();
                }
              });

  private static List<String> inOrder() {
    List<String> all = new ArrayList<>(Collections.nCopies(LOOPS, "laneFree"));
    all.add("runtimeClose");
    return all;
  }

  @ParameterizedTest(name = "loop {0}")
  @ValueSource(ints = {0, 1, LOOPS - 1})
  void theLoopsThatRunEndBeforeTheCoreDoes(int failing) throws InterruptedException {
    LciOptions options =
        LciOptions.builder()
            .loops(LOOPS)
            .devices(LOOPS)
            .instrumentation(
                new LciInstrumentation() {
                  @Override
                  public void runtimeStarted(LciRuntime runtime) {
                    told.add("started");
                  }

                  @Override
                  public void runtimeClosed(LciRuntime runtime) {
                    told.add("closed");
                  }
                })
            .build();
    long job = Runtimes.createJob(1);
    Throwable error =
        catchThrowable(
            () ->
                Runtimes.create(
                    calls, library.layout(), options, job, 0, loop -> thread(loop, failing)));
    Runtimes.freeJob(job);
    assertThat(error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("lci-loop-" + failing)
        .hasCause(NO_THREADS);
    assertThat(error.getSuppressed()).isEmpty();
    assertThat(ends).isEqualTo(inOrder());
    assertThat(told).isEmpty();
    assertThat(started).hasSize(failing);
    for (Thread thread : started) {
      thread.join(); // it has nothing left to do
    }
  }

  /** Else the rank would stay in the job, without loops, and the others wait for it. */
  @Test
  void theCoreEndsAlsoOfARuntimeThatCannotBeMade() {
    VirtualTimeScheduler timer = VirtualTimeScheduler.create();
    timer.dispose();
    LciOptions options = LciOptions.builder().loops(LOOPS).devices(LOOPS).timer(timer).build();
    long job = Runtimes.createJob(1);
    Throwable error =
        catchThrowable(
            () ->
                Runtimes.create(calls, library.layout(), options, job, 0, loop -> thread(loop, 0)));
    Runtimes.freeJob(job);
    assertThat(error).isInstanceOf(LciClosedException.class).hasMessageContaining("create runtime");
    assertThat(error.getSuppressed()).isEmpty();
    assertThat(ends).isEqualTo(inOrder());
  }

  /** What was made before a call fails ends with the core. */
  @ParameterizedTest
  @CsvSource({
    "runtimeLog, 1, 0",
    "laneCreate, 2, 1",
    "laneMemory, 1, 1",
    "laneMemory, 3, 3",
    "laneDoorbell, 1, 1",
    "laneDoorbell, 3, 3"
  })
  void nothingIsLeftOfARuntimeThatTheCoreRefuses(String call, int which, int made) {
    failing = call;
    callsUntilItFails = which;
    LciOptions options = LciOptions.builder().loops(LOOPS).devices(LOOPS).build();
    long job = Runtimes.createJob(1);
    Throwable error =
        catchThrowable(
            () ->
                Runtimes.create(
                    calls, library.layout(), options, job, 0, loop -> thread(loop, LOOPS)));
    Runtimes.freeJob(job);
    assertThat(error).isInstanceOf(ResourceExhaustedException.class);
    List<String> all = new ArrayList<>(Collections.nCopies(made, "laneFree"));
    all.add("runtimeClose");
    assertThat(ends).isEqualTo(all);
    assertThat(started).isEmpty();
  }

  /** The core has the device by then; the loop that is added next serves it. */
  @ParameterizedTest
  @CsvSource({"thread, 0", "deviceAdd, 1", "laneMemory, 4", "laneDoorbell, 4"})
  void aLoopThatCannotStartIsNotThere(String call, int which) {
    boolean noThread = which == 0;
    failing = call;
    callsUntilItFails = which;
    LciOptions options = LciOptions.builder().loops(LOOPS).devices(LOOPS).build();
    long job = Runtimes.createJob(1);
    AtomicInteger refused = new AtomicInteger(noThread ? LOOPS : -1);
    LciRuntime lci =
        Runtimes.create(
            calls, library.layout(), options, job, 0, loop -> thread(loop, refused.get()));
    Runtimes.freeJob(job);
    assertThat(catchThrowable(lci::addLoop)).isInstanceOf(ResourceExhaustedException.class);
    refused.set(-1);
    assertThat(lci.loops()).hasSize(LOOPS);
    assertThat(lci.snapshot().devices()).isEqualTo(LOOPS);
    LciLoop added = lci.addLoop();
    assertThat(added.devices()).containsExactly(LOOPS);
    Port port = Port.of(3, "added");
    Mono<Integer> received =
        lci.inbox(port, InboxOptions.builder().loop(LOOPS).build())
            .receive(m -> m.getInt(0))
            .next()
            .cache();
    received.subscribe();
    lci.post(Op.am(0, port, Payload.ofInt(5)).advanced(a -> a.device(LOOPS))).block(LIMIT);
    assertThat(received.block(LIMIT)).isEqualTo(5);
    lci.close();
    assertThat(ends).endsWith("runtimeClose").hasSize(lanes + 1);
  }

  private Thread thread(EventLoop loop, int failing) {
    if (loop.index() != failing) {
      Thread thread = new LoopThread(loop);
      started.add(thread);
      return thread;
    }
    return new Thread() {
      @Override
      public void start() {
        throw NO_THREADS;
      }
    };
  }
}
