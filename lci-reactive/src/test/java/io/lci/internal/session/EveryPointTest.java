/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.RemoteException;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Each kind of exchange, ended in each way after each number of messages: both sides end, nothing
 * stays, and every source that was subscribed to was ended or cancelled. Messages come in the order
 * of a seed.
 */
@ExtendWith(LciLeakCheck.class)
class EveryPointTest {
  /** How it ends. */
  enum End {
    CANCEL,
    /** The source of the answers fails. */
    ERROR,
    /** The side that serves dies. */
    SERVER_DEATH,
    /** The side that calls dies. */
    CLIENT_DEATH,
    /** The runtime that calls closes. */
    CLOSE
  }

  private static final int ITEMS = 6;

  static Stream<Arguments> cases() {
    return Arrays.stream(Kind.values())
        .flatMap(
            kind ->
                Arrays.stream(End.values())
                    .flatMap(end -> Stream.of(1, 2).map(seed -> Arguments.of(kind, end, seed))));
  }

  // Proves: Y4
  // On: inproc
  @ParameterizedTest(name = "{0}, {1}, seed {2}")
  @MethodSource("cases")
  void nothingStays(Kind kind, End end, int seed) {
    int point = 0;
    boolean ranToItsEnd = false;
    while (!ranToItsEnd) {
      ranToItsEnd = endsAt(kind, end, seed, point++);
    }
    assertThat(point).isGreaterThan(kind == Kind.FORGET ? 1 : 3);
  }

  /** Returns whether it had ended by itself before that point. */
  private static boolean endsAt(Kind kind, End end, int seed, int point) {
    FakeNet net =
        new FakeNet(
            2,
            LciOptions.builder()
                .streamLimits(StreamLimits.builder().reassemblyBytes(9_000).build())
                .build(),
            new Random(seed));
    Run run = new Run(net, kind);
    run.start();
    for (int i = 0; i < point; i++) {
      if (!net.step()) {
        break;
      }
    }
    boolean before = run.heard.hasEnded() && net.packets.isEmpty();
    switch (end) {
      case CANCEL -> run.heard.cancel();
      case ERROR -> run.fails = true;
      case SERVER_DEATH -> dies(net, 1);
      case CLIENT_DEATH -> dies(net, 0);
      case CLOSE -> net.close(0, new LciClosedException(LciException.Detail.of("close", "c", "")));
    }
    if (end == End.CLOSE) {
      net.packets.removeIf(p -> p.to() == 0);
      net.die(0, PeerEvent.State.LEFT);
    }
    net.run();
    assertThat(net.open(0)).as("exchanges of the caller, point %d", point).isZero();
    assertThat(net.open(1)).as("exchanges of the server, point %d", point).isZero();
    assertThat(net.rank(0).session(1).room().used()).isZero();
    assertThat(net.rank(1).session(0).room().used()).isZero();
    assertThat(run.alive).as("sources, point %d", point).hasValue(0);
    assertThat(net.counter(0, "link_violations") + net.counter(1, "link_violations")).isZero();
    run.checkWhatWasHeard(end, point);
    return before;
  }

  private static void dies(FakeNet net, int rank) {
    net.die(rank, PeerEvent.State.FAILED);
    // Nothing comes to the dead, and it hears of nothing; here it ends, too, for the test to look
    // at
    net.packets.removeIf(p -> p.to() == rank);
    net.close(rank, new LciClosedException(LciException.Detail.of("close", "c", "")));
  }

  /** One exchange, with small and large items both ways. */
  private static final class Run {
    final FakeNet net;
    final Kind kind;
    final Heard<Integer> heard = new Heard<>(2);

    /** Sources that were subscribed to and did not end. */
    final AtomicInteger alive = new AtomicInteger();

    boolean fails;

    Run(FakeNet net, Kind kind) {
      this.net = net;
      this.kind = kind;
    }

    private static Payload payload(int number) {
      byte[] bytes = new byte[number % 2 == 0 ? 4 : 7_000];
      bytes[0] = (byte) number;
      return Payload.of(bytes);
    }

    private <T> Flux<T> counted(Flux<T> source) {
      return source
          .doOnSubscribe(s -> alive.incrementAndGet())
          .doFinally(how -> alive.decrementAndGet());
    }

    private Flux<Payload> answers() {
      return counted(
          Flux.range(0, ITEMS)
              .map(
                  n -> {
                    if (fails) {
                      throw new RemoteException("no_such_key", "as wanted");
                    }
                    return payload(n);
                  }));
    }

    void start() {
      Codec<Payload> codec =
          Codec.of((payload, out) -> payload.writeTo(out), in -> Payload.of(in.toByteArray()));
      net.rank(1).publish("s", Flux.defer(this::answers), codec);
      net.rank(1)
          .serve(
              "f",
              new RpcHandler() {
                @Override
                public Mono<Void> fireAndForget(Message request) {
                  return answers().then();
                }

                @Override
                public Mono<? extends Payload> requestResponse(Message request) {
                  return answers().elementAt(1);
                }

                @Override
                public Publisher<? extends Payload> requestStream(Message request) {
                  return answers();
                }

                @Override
                public Publisher<? extends Payload> requestChannel(
                    int rank, Flux<Message> requests) {
                  return counted(requests).zipWith(answers(), (request, answer) -> answer);
                }
              });
      Sessions caller = net.rank(0);
      Flux<Integer> flux =
          switch (kind) {
            case STREAM -> caller.subscribe(1, "s", Codec.BYTES).map(bytes -> (int) bytes[0]);
            case FORGET -> caller.fireAndForget(1, "f", payload(1)).thenMany(Flux.empty());
            case RESPONSE -> caller.requestResponse(1, "f", payload(1)).flux().map(Run::number);
            case ANSWERS -> caller.requestStream(1, "f", payload(1)).map(Run::number);
            case CHANNEL ->
                caller
                    .requestChannel(1, "f", counted(Flux.range(0, ITEMS).map(Run::payload)))
                    .map(Run::number);
          };
      flux.doOnNext(n -> heard.request(1)).subscribe(heard);
    }

    private static int number(MessageView message) {
      return message.getByte(0);
    }

    void checkWhatWasHeard(End end, int point) {
      for (int i = 0; i < heard.items.size(); i++) {
        assertThat(heard.items.get(i)).isEqualTo(kind == Kind.RESPONSE ? 1 : i);
      }
      if (heard.completed) {
        int all = kind == Kind.FORGET ? 0 : kind == Kind.RESPONSE ? 1 : ITEMS;
        assertThat(heard.items).as("items at the end, point %d", point).hasSize(all);
      } else if (end == End.CANCEL) {
        assertThat(heard.error).isNull();
      } else {
        assertThat(heard.error)
            .isInstanceOf(
                switch (end) {
                  case ERROR -> RemoteException.class;
                  case SERVER_DEATH -> PeerFailedException.class;
                  default -> LciClosedException.class;
                });
      }
    }
  }
}
