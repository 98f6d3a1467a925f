/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static io.lci.collective.StreamsOfAll.LIMIT;
import static io.lci.collective.StreamsOfAll.subscribed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.test.subscriber.TestSubscriber;

/**
 * One member ends a stream at a random step, in a random way: all others end, and say who it was.
 * The seed of each is printed.
 */
@ExtendWith(LciLeakCheck.class)
class GroupStreamKillsTest {
  private static final int RUNS = 200;
  private static final int RANKS = 3;
  private static final int ITEMS = 400;

  private enum Way {
    DEATH(PeerFailedException.class),
    LEAVING(PeerLeftException.class),
    CANCEL(OperationCancelledException.class),
    ERROR(CollectiveFailedException.class);

    private final Class<? extends LciException> heard;

    Way(Class<? extends LciException> heard) {
      this.heard = heard;
    }
  }

  static LongStream seeds() {
    return LongStream.rangeClosed(1, RUNS);
  }

  /** What a run is made of. */
  private static final class Plan {
    final int kind;
    final Way way;
    final int member;
    final int step;
    final boolean chaos;

    Plan(long seed) {
      Random random = new Random(seed);
      kind = random.nextInt(4);
      Way any = Way.values()[random.nextInt(Way.values().length)];
      // A cancel of the others is their own affair
      way = kind >= 2 && any == Way.CANCEL ? Way.ERROR : any;
      int source = random.nextInt(RANKS);
      member = kind == 2 ? 0 : source;
      step = random.nextInt(ITEMS);
      chaos = random.nextBoolean();
    }

    @Override
    public String toString() {
      return "kind " + kind + ", " + way + " of " + member + " at " + step + ", chaos " + chaos;
    }

    Flux<?> stream(LciRuntime lci) {
      GroupStreams streams = lci.world().streams();
      Flux<Integer> items = Flux.range(0, ITEMS).concatWith(Flux.never());
      if (lci.rank() == member) {
        items =
            items.map(
                n -> {
                  if (n == step) {
                    happen(lci);
                  }
                  return n;
                });
      }
      return switch (kind) {
        case 0 -> streams.shuffle(items, n -> n % RANKS, Codec.INT);
        case 1 -> streams.gather(1, items, Codec.INT);
        case 2 -> streams.broadcast(0, items, Codec.INT);
        default -> streams.allReduce(items.map(n -> Vec.longs(new long[] {n})), ReduceOp.SUM);
      };
    }

    private void happen(LciRuntime lci) {
      switch (way) {
        case DEATH -> lci.abort();
        case LEAVING -> lci.dispose();
        case ERROR -> throw new IllegalStateException("on purpose");
        default -> {} // by its subscriber
      }
    }
  }

  // Proves: J25
  // On: inproc, chaos
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void allOthersEnd(long seed) {
    Plan plan = new Plan(seed);
    System.out.println("seed " + seed + ": " + plan);
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", plan.chaos ? "seed=" + seed + ",delay=0.3,ticks=32" : "")
            .build();
    try (LciTestJob job = LciTestJob.start(RANKS, options)) {
      List<TestSubscriber<Object>> all = subscribed(job, plan::stream);
      if (plan.way == Way.CANCEL) {
        all.get(plan.member).cancel();
      }
      for (int rank = 0; rank < RANKS; rank++) {
        TestSubscriber<Object> one = all.get(rank);
        if (rank != plan.member) {
          await(plan.toString()).atMost(LIMIT).until(one::isTerminatedError);
          assertThat(one.expectTerminalError()).isInstanceOf(plan.way.heard);
          assertThat(((LciException) one.expectTerminalError()).rank()).isEqualTo(plan.member);
        }
      }
    }
  }
}
