/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Inbox;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Active messages of eight bytes from one rank, the sender, to the other, the taker: unbatched for
 * the user, payload read. After each round the taker tells the sender what they added up to.
 */
final class MessageBench {
  private static final Port THERE = Port.of(1, "there");
  private static final Port BACK = Port.of(2, "back");

  private final LciRuntime lci;
  private final Dose dose;
  private final int peer;
  private final Sender sender;
  private final Inbox inbox;

  private MessageBench(LciRuntime lci, Dose dose, boolean sends) {
    this.lci = lci;
    this.dose = dose;
    this.peer = 1 - lci.rank();
    this.sender = lci.sender(sends ? THERE : BACK);
    this.inbox = lci.inbox(sends ? BACK : THERE);
  }

  /** Takes part in a measurement: rank 0 sends, except where it is the taker that is looked at. */
  static double measure(LciRuntime lci, Metric metric, Dose dose) {
    boolean first = lci.rank() == 0;
    return switch (metric) {
      case GARBAGE_HANDLER, GARBAGE_DECODER, GARBAGE_MESSAGE -> {
        MessageBench bench = new MessageBench(lci, dose, !first);
        yield first ? bench.garbage(metric) : bench.sendRounds(Metric.AM_STREAM);
      }
      case AM_ROUND_TRIP -> {
        MessageBench bench = new MessageBench(lci, dose, first);
        yield first ? bench.roundTrips() : bench.echo();
      }
      default -> {
        MessageBench bench = new MessageBench(lci, dose, first);
        yield first ? bench.sendRounds(metric) : bench.takeRounds(metric);
      }
    };
  }

  // ---- the sender -----------------------------------------------------------------------------

  private double sendRounds(Metric metric) {
    return dose.rate(
        () -> {
          switch (metric) {
            case OP_CHAINS -> sendRound(inChains(), sumOfChains());
            case OP_WINDOW -> sendRound(inWindow(), dose.sum());
            case OP_FLATMAP -> sendRound(byFlatMap(), dose.sum());
            default -> sendRound(asFlux(), dose.sum());
          }
        });
  }

  private void sendRound(Publisher<?> messages, long expected) {
    Long sum =
        Mono.when(messages)
            .then(inbox.receive(message -> message.getLong(0)).next())
            .blockOptional()
            .orElseThrow();
    Dose.check(sum, expected);
  }

  private Publisher<?> asFlux() {
    return sender.sendAll(peer, Flux.range(0, dose.count()), (number, out) -> out.putLong(number));
  }

  /** Each chain sends its number, again and again. */
  private Publisher<?> inChains() {
    long again = dose.count() / Dose.CONCURRENCY - 1L;
    return Flux.range(0, Dose.CONCURRENCY)
        .flatMap(
            number -> sender.send(peer, Payload.ofLong(number)).repeat(again), Dose.CONCURRENCY);
  }

  private long sumOfChains() {
    return new Dose(Dose.CONCURRENCY).sum() * (dose.count() / Dose.CONCURRENCY);
  }

  private Publisher<?> inWindow() {
    Flux<Op> ops =
        Flux.range(0, dose.count()).map(number -> Op.am(peer, THERE, Payload.ofLong(number)));
    return lci.post(ops, PostOptions.builder().stopOnError(true).build());
  }

  private Publisher<?> byFlatMap() {
    return Flux.range(0, dose.count())
        .flatMap(number -> sender.send(peer, Payload.ofLong(number)), Dose.CONCURRENCY);
  }

  private double roundTrips() {
    return RoundTrips.overStreams(
        dose,
        (there, back) ->
            Mono.when(
                sender.sendAll(peer, there, (number, out) -> out.putLong(number)),
                back.apply(inbox.receive(message -> message.getLong(0)))));
  }

  // ---- the taker ------------------------------------------------------------------------------

  private double garbage(Metric metric) {
    return dose.garbage(() -> takeRound(metric));
  }

  /** Where it is the sender that is looked at, the taker takes in the cheapest way. */
  private double takeRounds(Metric metric) {
    Metric way = metric == Metric.AM_STREAM ? Metric.GARBAGE_DECODER : Metric.GARBAGE_HANDLER;
    dose.rounds(() -> takeRound(way));
    return 0;
  }

  private void takeRound(Metric way) {
    long sum =
        switch (way) {
          case GARBAGE_HANDLER -> takeByHandler();
          case GARBAGE_MESSAGE -> take(inbox.receive(), message -> message.getLong(0));
          default -> take(inbox.receive(message -> message.getLong(0)), number -> number);
        };
    sender.send(peer, Payload.ofLong(sum)).block();
  }

  private <T> long take(Flux<T> messages, Function<T, Long> number) {
    long[] sum = new long[1];
    messages
        .limitRate(Dose.DEMAND)
        .take(dose.count())
        .doOnNext(message -> sum[0] += number.apply(message))
        .blockLast();
    return sum[0];
  }

  private long takeByHandler() {
    Sinks.One<Long> all = Sinks.one();
    Sum sum = new Sum(dose.count(), all);
    Disposable tap = inbox.handle(sum::add);
    long result = all.asMono().blockOptional().orElseThrow();
    tap.dispose();
    return result;
  }

  /** Adds up what a handler is given. */
  private static final class Sum {
    private final Sinks.One<Long> all;
    private int missing;
    private long sum;

    Sum(int count, Sinks.One<Long> all) {
      this.missing = count;
      this.all = all;
    }

    void add(MessageView message) {
      sum += message.getLong(0);
      if (--missing == 0) {
        all.tryEmitValue(sum).orThrow();
      }
    }
  }

  private double echo() {
    sender
        .sendAll(
            peer,
            inbox.receive(message -> message.getLong(0)).take(dose.count()),
            (number, out) -> out.putLong(number))
        .block();
    return 0;
  }
}
