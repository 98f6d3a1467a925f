/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Rank 0 sends as fast as it may; rank 1 asks for one message a second, and at last for all. While
 * it is slow the sender's upstream stops and memory stays; nothing is lost. Fails if that is not
 * so.
 */
@Command(
    name = "slow-consumer",
    mixinStandardHelpOptions = true,
    description =
        "Rank 0 sends 1 KiB messages; rank 1 asks for one a second, then for all. Checks what comes,"
            + " what was sent meanwhile, and how memory grew. In mode SHUFFLE 4 ranks bring 64-byte items to each"
            + " other, and rank 2 is slow.")
public final class SlowConsumer implements Callable<Integer> {
  enum Mode {
    /** The inbox has the slow subscriber. */
    DIRECT,
    /** A thread and a prefetch of 256 lie between. */
    PUBLISH_ON,
    /** A second port, with half of the messages, is read as fast as it can be. */
    TWO_PORTS,
    /** Four ranks have a stream together, see {@link SlowShuffle}. */
    SHUFFLE;

    int ranks() {
      return this == SHUFFLE ? SlowShuffle.RANKS : 2;
    }
  }

  private static final Port SLOW = Port.of(1, "slow");
  private static final Port FAST = Port.of(2, "fast");
  private static final Port OPENED = Port.of(3, "opened");
  private static final Port SENT = Port.of(4, "sent");
  private static final int PREFETCH = 256;
  private static final long MEBIBYTE = 1 << 20;

  @Option(
      names = "--messages",
      paramLabel = "N",
      defaultValue = "200000",
      description = "How many, in all. Default ${DEFAULT-VALUE}.")
  int messages;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      defaultValue = "3",
      description = "How long rank 1 is slow. Default ${DEFAULT-VALUE}.")
  int seconds;

  @Option(
      names = "--mode",
      defaultValue = "DIRECT",
      description = "${COMPLETION-CANDIDATES}. Default ${DEFAULT-VALUE}.")
  Mode mode = Mode.DIRECT;

  @Option(
      names = "--growth",
      paramLabel = "MIB",
      defaultValue = "96",
      description = "By how much memory of a rank may grow. Default ${DEFAULT-VALUE}.")
  int growth;

  @Override
  public Integer call() throws IOException {
    try (LciRuntime lci = LciRuntime.create()) {
      if (lci.size() != mode.ranks()) {
        throw new IllegalArgumentException(mode.ranks() + " ranks are needed, not " + lci.size());
      }
      int fast = mode == Mode.TWO_PORTS ? messages / 2 : 0;
      lci.barrier().block();
      long before = ResidentMemory.now();
      if (mode == Mode.SHUFFLE) {
        new SlowShuffle(lci, messages, seconds).run();
      } else if (lci.rank() == 0) {
        send(lci, messages - fast, fast);
      } else {
        consume(lci, messages - fast, fast);
      }
      checkGrowth(before);
      lci.barrier().block();
      return 0;
    }
  }

  // ---- sender

  private static void send(LciRuntime lci, int slow, int fast) {
    AtomicInteger taken = new AtomicInteger();
    Mono<Void> sent = sendNumbered(lci, SLOW, slow, taken);
    if (fast != 0) {
      sent = sent.and(sendNumbered(lci, FAST, fast, new AtomicInteger()));
    }
    // What upstream had given when the receiver began to ask for all.
    Mono<Void> told =
        lci.inbox(OPENED)
            .receive(message -> taken.get())
            .next()
            .flatMap(count -> lci.sender(SENT).send(1, number(count)));
    sent.and(told).block();
  }

  private static Mono<Void> sendNumbered(
      LciRuntime lci, Port port, int count, AtomicInteger taken) {
    long[] scratch = Numbered.scratch();
    return lci.sender(port)
        .sendAll(
            1,
            Flux.range(0, count).doOnNext(number -> taken.incrementAndGet()),
            (number, out) -> Numbered.write(number, scratch, out));
  }

  private static Payload number(long value) {
    return Payload.of(
        ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(0, value));
  }

  // ---- receiver

  private void consume(LciRuntime lci, int slow, int fast) {
    Inbox inbox = lci.inbox(SLOW);
    Numbered numbered = new Numbered(slow);
    Flux<Integer> source = inbox.receive(numbered::take).take(slow);
    SlowSubscriber<Integer> subscriber = new SlowSubscriber<>();
    (mode == Mode.PUBLISH_ON ? source.publishOn(Schedulers.parallel(), PREFETCH) : source)
        .subscribe(subscriber);
    Mono<Long> upstreamWhenOpened =
        lci.inbox(SENT).receive(message -> message.getLong(0)).next().cache();
    upstreamWhenOpened.subscribe();

    Mono<Void> slowPhase =
        Flux.interval(Duration.ofSeconds(1))
            .take(seconds)
            .doOnNext(second -> subscriber.askForOne())
            .takeUntilOther(subscriber.whenComplete())
            .then();
    if (fast != 0) {
      slowPhase = slowPhase.and(takeAll(lci, fast));
    }
    slowPhase.block();
    long received = subscriber.received();
    lci.sender(OPENED).send(0, Payload.of(new byte[0])).block();
    long upstream = upstreamWhenOpened.blockOptional().orElseThrow();
    subscriber.askForAll();
    subscriber.whenComplete().block();
    numbered.check();

    System.out.printf(
        Locale.ROOT,
        "slow for %d s: %d asked for, %d received, %d given by upstream; then %d of %d, checksum right%n",
        seconds,
        seconds,
        received,
        upstream,
        numbered.taken(),
        slow);
    long room = inbox.capacity() + seconds + SenderOptions.DEFAULT_WINDOW + PREFETCH;
    if (received < seconds - 1 || received > seconds || upstream > room) {
      throw new IllegalStateException(
          seconds
              + " messages were asked for, "
              + received
              + " came; upstream gave "
              + upstream
              + ", there was room for "
              + room);
    }
  }

  /** A port whose messages are taken as fast as they come; complete when all have. */
  private static Mono<Void> takeAll(LciRuntime lci, int count) {
    Numbered numbered = new Numbered(count);
    return lci.inbox(FAST)
        .receive(numbered::take)
        .take(count)
        .then(Mono.fromRunnable(numbered::check))
        .doOnSuccess(
            done ->
                System.out.printf(
                    Locale.ROOT,
                    "fast: %d of %d while the other was slow, checksum right%n",
                    count,
                    count))
        .then();
  }

  private void checkGrowth(long before) throws IOException {
    double grown = (double) (ResidentMemory.highest() - before) / MEBIBYTE;
    System.out.printf(Locale.ROOT, "memory grew by %.1f MiB at most%n", grown);
    if (grown >= growth) {
      throw new IllegalStateException(
          String.format(Locale.ROOT, "memory grew by %.1f MiB; %d are allowed", grown, growth));
    }
  }
}
