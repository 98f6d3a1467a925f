/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Encoder;
import io.lci.am.Inbox;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import java.time.Duration;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Every rank sends messages to random ranks, itself included; at the end rank 0 compares what was
 * sent with what arrived. Long messages are written straight into packets of the library. [W10]
 */
@Command(
    name = "many-to-many",
    mixinStandardHelpOptions = true,
    description =
        "Every rank sends to random ranks; what arrives is checked against what was sent.")
public final class ManyToMany implements Callable<Integer> {
  private static final Port MESSAGES = Port.of(1, "messages");
  private static final Port ENDS = Port.of(2, "ends");
  private static final Port TOTALS = Port.of(3, "totals");
  private static final int MAX_WORDS = 1 << 16;
  private static final Duration LIMIT = Duration.ofMinutes(5);

  @Option(
      names = "--messages",
      paramLabel = "N",
      defaultValue = "1000000",
      description = "Messages that each rank sends. Default ${DEFAULT-VALUE}.")
  int messages;

  @Option(
      names = "--window",
      paramLabel = "N",
      defaultValue = "256",
      description = "Messages that may wait at a sender. Default ${DEFAULT-VALUE}.")
  int window;

  @Option(
      names = "--words",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Numbers of 8 bytes in each message; above 24 each is written straight into a packet."
              + " Default ${DEFAULT-VALUE}.")
  int words;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of the random targets. Default ${DEFAULT-VALUE}.")
  long seed;

  @Spec @Nullable CommandSpec spec;

  /** How many messages, and a sum over all their words. */
  record Total(long count, long sum) {
    static final Total NONE = new Total(0, 0);

    Total plus(Total other) {
      return new Total(count + other.count, sum + other.sum);
    }
  }

  /** What all ranks sent and received. */
  record Both(Total sent, Total received) {
    Both plus(Both other) {
      return new Both(sent.plus(other.sent), received.plus(other.received));
    }
  }

  /** What one rank has received: complete when all that the others announced is there. */
  private static final class Received {
    private final int ranks;
    private long count;
    private long sum;
    private long expected;
    private int ends;

    Received(int ranks) {
      this.ranks = ranks;
    }

    void take(MessageView message) {
      count++;
      for (int i = 0; i < message.size(); i += Long.BYTES) {
        sum += message.getLong(i);
      }
    }

    void end(MessageView message) {
      ends++;
      expected += message.getLong(0);
    }

    boolean isComplete() {
      return ends == ranks && count == expected;
    }

    Total total() {
      return new Total(count, sum);
    }
  }

  /** Message {@code value}: its words, each of which depends on its place. */
  private record Words(int count) implements Encoder<Long> {
    @Override
    public void encode(Long value, PayloadWriter out) {
      for (int i = 0; i < count; i++) {
        out.putLong(word(value, i));
      }
    }

    @Override
    public int sizeHint(Long value) {
      return count * Long.BYTES;
    }

    Total totalOf(long value) {
      long sum = 0;
      for (int i = 0; i < count; i++) {
        sum += word(value, i);
      }
      return new Total(1, sum);
    }

    private static long word(long value, int place) {
      return Long.rotateLeft(value, place) ^ place;
    }
  }

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new ManyToMany(), args);
  }

  @Override
  public Integer call() {
    Samples.require(spec, messages >= 0, "--messages must not be negative: " + messages);
    Samples.require(
        spec,
        window >= 1 && window <= SenderOptions.MAX_WINDOW,
        "--window must be 1 to " + SenderOptions.MAX_WINDOW + ", not " + window);
    Samples.require(
        spec,
        words >= 1 && words <= MAX_WORDS,
        "--words must be 1 to " + MAX_WORDS + ", not " + words);
    try (LciRuntime lci = LciRuntime.create()) {
      Both totals = run(lci).block(LIMIT);
      if (totals != null) {
        System.out.printf(
            "sent %d, received %d, checksums %s%n",
            totals.sent().count(),
            totals.received().count(),
            totals.sent().equals(totals.received()) ? "equal" : "differ");
      }
      lci.barrier().block(LIMIT);
      return totals == null || totals.sent().equals(totals.received()) ? 0 : Samples.FAILED;
    }
  }

  /** Takes part; on rank 0 emits what all ranks sent and received, on the others nothing. */
  Mono<Both> run(LciRuntime lci) {
    long start = System.nanoTime();
    Mono<Void> exchange =
        Mono.zip(send(lci), receive(lci), Both::new).flatMap(mine -> report(lci, mine, start));
    return lci.rank() == 0
        ? Mono.zip(total(lci), exchange.thenReturn(true), (all, done) -> all)
        : exchange.then(Mono.empty());
  }

  private Mono<Total> send(LciRuntime lci) {
    int ranks = lci.size();
    long[] sent = new long[ranks];
    Words message = new Words(words);
    SplittableRandom random = new SplittableRandom(seed + lci.rank());
    SenderOptions options = SenderOptions.builder().window(window).stopOnError(true).build();
    return lci.sender(MESSAGES, options)
        .route(
            Flux.range(0, messages).map(n -> random.nextLong()),
            value -> (int) Long.remainderUnsigned(value, ranks),
            message)
        .doOnNext(result -> sent[result.rank()]++)
        .map(result -> message.totalOf(result.item()))
        .reduce(Total.NONE, Total::plus)
        .flatMap(total -> announceEnds(lci, sent).thenReturn(total));
  }

  private static Mono<Void> announceEnds(LciRuntime lci, long[] sent) {
    return Flux.range(0, sent.length)
        .flatMap(rank -> lci.sender(ENDS).send(rank, Payload.ofLong(sent[rank])))
        .then();
  }

  private static Mono<Total> receive(LciRuntime lci) {
    Received received = new Received(lci.size());
    return Flux.merge(
            looked(lci.inbox(MESSAGES), received::take), looked(lci.inbox(ENDS), received::end))
        .takeUntil(any -> received.isComplete())
        .then(Mono.fromSupplier(received::total));
  }

  /** One element for each message, which is looked at on the loop: both ports have the same one. */
  private static Flux<Boolean> looked(Inbox inbox, Consumer<MessageView> look) {
    return inbox.receive(
        message -> {
          look.accept(message);
          return true;
        });
  }

  private static Mono<Void> report(LciRuntime lci, Both mine, long start) {
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf(
        Locale.ROOT,
        "rank %d: sent %d, received %d, %.2f million messages/s%n",
        lci.rank(),
        mine.sent().count(),
        mine.received().count(),
        mine.received().count() / seconds / 1e6);
    return lci.sender(TOTALS)
        .sendAll(
            0,
            Mono.just(mine),
            (both, out) ->
                out.putLong(both.sent().count())
                    .putLong(both.sent().sum())
                    .putLong(both.received().count())
                    .putLong(both.received().sum()));
  }

  /** Rank 0: adds up what all ranks report. */
  private static Mono<Both> total(LciRuntime lci) {
    return lci.inbox(TOTALS)
        .receive(
            m ->
                new Both(
                    new Total(m.getLong(0), m.getLong(8)), new Total(m.getLong(16), m.getLong(24))))
        .take(lci.size())
        .reduce(Both::plus);
  }
}
