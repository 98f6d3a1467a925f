/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.IdleStrategy;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.collective.Group;
import io.lci.collective.ReduceOp;
import java.util.Arrays;
import java.util.function.IntFunction;
import reactor.core.publisher.Mono;

/**
 * Collectives of two ranks, one call after the other, each a {@code Mono} that is made for it: the
 * next one is subscribed where the one before ends, on the loop.
 */
public final class CollectiveBench {
  private static final int BATCHES = 120;

  /** For the seconds in which the JVM compiles, on processors on which the loops spin. */
  private static final int WARM_UP = BATCHES - 20;

  private static final int SHORT_CALLS = 10_000;
  private static final long LONG_BYTES = 100L << 20;

  private final Group world;
  private final CollectiveMetric metric;
  private final int count;
  private final Doubles in;
  private final Doubles out;
  private int made;

  private CollectiveBench(Group world, CollectiveMetric metric, IntFunction<Doubles> places) {
    this.world = world;
    this.metric = metric;
    this.count = metric.bytes() / Double.BYTES;
    this.in = places.apply(count * world.size());
    this.out = places.apply(count * world.size());
    in.fill(1 + world.rank());
    out.fill(1 + world.rank());
  }

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric; and {@code heap} for blocks in arrays instead of shared
   *     {@code LciBuffer}s, or {@code parked} for loops that park when nothing comes instead of
   *     spinning, each on its processor
   */
  public static void main(String[] arguments) {
    CollectiveMetric metric = CollectiveMetric.of(arguments[0]);
    String how = arguments.length > 1 ? arguments[1] : "";
    try (LciRuntime lci = LciRuntime.create(how.equals("parked") ? parking() : spinning())) {
      double value = measure(lci, metric, how.equals("heap"), JvmBench.part());
      if (lci.rank() == 0) {
        System.out.println(metric.line(value));
      }
    }
  }

  private static LciOptions parking() {
    return LciOptions.builder().idle(IdleStrategy.parking()).build();
  }

  private static LciOptions spinning() {
    return LciOptions.builder()
        .idle(IdleStrategy.busySpin())
        .affinity(JvmBench.isFirst() ? 0 : 1)
        .build();
  }

  /**
   * Takes part in one measurement, to the end of it on both ranks.
   *
   * @param heap whether blocks are arrays
   * @param part of the full dose
   * @return nanoseconds of a call of up to eight bytes, else GB of a block in a second; the median
   *     of batches
   */
  static double measure(LciRuntime lci, CollectiveMetric metric, boolean heap, double part) {
    CollectiveBench bench = new CollectiveBench(lci.world(), metric, Doubles.places(lci, heap));
    long full = metric.isShort() ? SHORT_CALLS : LONG_BYTES / metric.bytes();
    int calls = (int) Math.max(1, full * part);
    double[] nanos = new double[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
      nanos[batch] = bench.nanosOfCall(calls);
    }
    bench.check();
    lci.barrier().block(); // until then this rank's memory is read
    double median = median(Arrays.copyOfRange(nanos, WARM_UP, BATCHES));
    return metric.isShort() ? median : metric.bytes() / median;
  }

  /**
   * Measured on the loop, from the end of one more call before them: this thread waits for a
   * processor on which a loop spins, for milliseconds.
   */
  private double nanosOfCall(int calls) {
    long[] times = new long[2];
    Mono<Void> call = Mono.defer(this::call);
    call.doOnTerminate(() -> times[0] = System.nanoTime())
        .thenMany(call.repeat(calls - 1L))
        .doOnComplete(() -> times[1] = System.nanoTime())
        .blockLast();
    return (double) (times[1] - times[0]) / calls;
  }

  private Mono<Void> call() {
    return switch (metric.kind()) {
      case BARRIER -> world.barrier();
      case ALLREDUCE -> world.allReduce(in.first(count), out.first(count), ReduceOp.SUM);
      case BROADCAST -> world.broadcast(made++ % world.size(), out.first(count));
      case ALLGATHER -> world.allGather(in.first(count), out.all());
      case ALLTOALL -> world.allToAll(in.all(), out.all());
    };
  }

  /** The last number must be what the calls bring: each member has its own, 1, 2 and so on. */
  private void check() {
    int members = world.size();
    double expected =
        switch (metric.kind()) {
          case BARRIER -> 0;
          case ALLREDUCE -> members * (members + 1) / 2.0;
          case BROADCAST -> 1;
          case ALLGATHER, ALLTOALL -> members;
        };
    int last = metric.kind().bringsAll() ? count * members - 1 : count - 1;
    if (count > 0 && out.get(last) != expected) {
      throw new IllegalStateException(
          metric + " brought " + out.get(last) + " instead of " + expected);
    }
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }
}
