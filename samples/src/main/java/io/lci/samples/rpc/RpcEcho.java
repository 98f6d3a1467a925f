/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.samples.Samples;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.Disposable;
import reactor.core.Exceptions;

/** Threads of all ranks call each other, and answer, over a small RPC library. [W1] */
@Command(
    name = "rpc-echo",
    mixinStandardHelpOptions = true,
    description = {
      "Threads of all ranks call functions of random ranks, with 8 to 40,000 bytes, check the"
          + " answers, and serve the others' calls meanwhile.",
      "At the end the books must show that every call was answered once and every buffer is back."
    })
public final class RpcEcho implements Callable<Integer> {
  private static final int MAX_WINDOW = 256;

  @Option(
      names = "--calls",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Calls that each thread makes. Default ${DEFAULT-VALUE}.")
  int calls;

  @Option(
      names = "--threads",
      paramLabel = "T",
      defaultValue = "2",
      description = "Threads of each rank. Default ${DEFAULT-VALUE}.")
  int threads;

  @Option(
      names = "--window",
      paramLabel = "N",
      defaultValue = "16",
      description = "Calls that a thread may have open. Default ${DEFAULT-VALUE}.")
  int window;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of who calls whom with what. Default ${DEFAULT-VALUE}.")
  long seed;

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new RpcEcho(), args);
  }

  @Override
  public Integer call() throws InterruptedException {
    Samples.require(spec, calls >= 0, "--calls must not be negative: " + calls);
    Samples.require(
        spec,
        threads >= 1 && threads <= LciOptions.MAX_LOOPS,
        "--threads must be 1 to " + LciOptions.MAX_LOOPS + ", not " + threads);
    Samples.require(
        spec,
        window >= 1 && window <= MAX_WINDOW,
        "--window must be 1 to " + MAX_WINDOW + ", not " + window);
    try (LciRuntime lci = LciRuntime.create(options(threads))) {
      RpcLedger books = run(lci, new EchoPlan(calls, window, seed));
      System.out.printf(
          "rank %d: %d calls answered, %d served; %d buffers back, %d at once and %d later%n",
          lci.rank(),
          books.answers(),
          books.served(),
          books.given(),
          books.sentAtOnce(),
          books.sentLater());
      if (!books.isBalanced()) {
        throw new IllegalStateException("the books do not balance: " + books);
      }
    }
    return 0;
  }

  /** The program's own threads drive the loops. */
  static LciOptions options(int threads) {
    return LciOptions.builder().loops(threads).invoker(true).build();
  }

  /** Runs one thread for each loop until all ranks are done; the books of all of them. */
  static RpcLedger run(LciRuntime lci, EchoPlan plan) throws InterruptedException {
    int threads = lci.loops().size();
    Failure failure = new Failure();
    Phase answered = new Phase(lci, threads, failure);
    Phase quiet = new Phase(lci, threads, failure);
    Disposable peers =
        lci.peerEvents().subscribe(event -> lookAtPeer(event, quiet, failure), failure::set);
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Callable<RpcLedger>> work = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        int thread = i;
        work.add(() -> work(lci, thread, plan, failure, answered, quiet));
      }
      return sum(executor.invokeAll(work));
    } finally {
      executor.shutdown();
      peers.dispose();
    }
  }

  private static RpcLedger work(
      LciRuntime lci, int thread, EchoPlan plan, Failure failure, Phase answered, Phase quiet) {
    try (EchoThread echo = new EchoThread(lci, thread, plan, failure)) {
      return echo.run(answered, quiet);
    } catch (Throwable e) {
      failure.set(e); // the other threads would wait for this one
      throw e;
    }
  }

  private static RpcLedger sum(List<Future<RpcLedger>> books) throws InterruptedException {
    RpcLedger sum = RpcLedger.EMPTY;
    for (Future<RpcLedger> each : books) {
      try {
        sum = sum.plus(each.get());
      } catch (ExecutionException e) {
        throw Exceptions.propagate(Objects.requireNonNullElse(e.getCause(), e));
      }
    }
    return sum;
  }

  /** Whoever waits for an answer would not hear otherwise that there will be none. */
  private static void lookAtPeer(PeerEvent event, Phase last, Failure failure) {
    LciException.Detail detail =
        new LciException.Detail(
            "rpc", event.rank(), LciException.NONE, LciException.NONE, event.state().name(), "");
    if (event.state() == PeerEvent.State.FAILED) {
      failure.set(new PeerFailedException(detail));
    } else if (!last.hasArrived()) {
      failure.set(new PeerLeftException(detail));
    }
  }
}
