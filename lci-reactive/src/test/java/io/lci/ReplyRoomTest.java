/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Requests that reserve room for their reply before they leave. [X10, 2B-55] */
@ExtendWith(LciLeakCheck.class)
class ReplyRoomTest {
  private static final Port REQUESTS = Port.of(61, "requests");
  private static final Port REPLIES = Port.of(62, "replies");
  private static final Duration LIMIT = Duration.ofSeconds(90);

  private static InboxOptions room(int replies, int bytes) {
    return InboxOptions.builder().messages(1).replyRoom(replies, bytes).build();
  }

  private static Op request(long number) {
    return Op.am(1, REQUESTS, Payload.ofLong(number)).tag(number).replyTo(REPLIES);
  }

  private static Op reply(Message request) {
    return Op.reply(request.rank(), REPLIES, Payload.ofLong(3 * request.getLong(0)))
        .tag(request.tag());
  }

  /** Every rank asks the next and answers the one before, with little room and less demand. */
  private static void echo(LciTestJob job, int count, int capacity) {
    long sum = (long) count * (count - 1) / 2;
    List<Mono<?>> all =
        job.ranks().stream()
            .flatMap(
                lci -> {
                  int next = (lci.rank() + 1) % job.size();
                  Inbox replies = lci.inbox(REPLIES, room(4, 8));
                  Inbox requests =
                      lci.inbox(REQUESTS, InboxOptions.builder().messages(capacity).build());
                  Mono<Long> answered =
                      requests
                          .receive()
                          .flatMap(
                              m ->
                                  lci.post(
                                      Op.reply(m.rank(), REPLIES, Payload.ofLong(3 * m.getLong(0)))
                                          .tag(m.tag())),
                              4)
                          .take(count)
                          .count();
                  Mono<Void> asked =
                      lci.sender(
                              REQUESTS, SenderOptions.builder().window(16).replyTo(REPLIES).build())
                          .sendAll(next, Flux.range(0, count), (n, out) -> out.tag(n).putLong(n));
                  Mono<Long> told =
                      replies
                          .receive(
                              m -> {
                                assertThat(m.rank()).isEqualTo(next);
                                assertThat(m.getLong(0)).isEqualTo(3 * m.tag());
                                return m.tag();
                              })
                          .limitRate(3)
                          .take(count)
                          .reduce(0L, Long::sum)
                          .doOnNext(tags -> assertThat(tags).isEqualTo(sum));
                  return Stream.<Mono<?>>of(answered, asked, told);
                })
            .toList();
    Mono.when(all).block(LIMIT);
  }

  // On: inproc
  @ParameterizedTest(name = "{0} ranks")
  @ValueSource(ints = {1, 2, 3})
  void echoesBothWaysAtOnceNeverWaitForEachOther(int ranks) {
    try (LciTestJob job = LciTestJob.start(ranks)) {
      echo(job, 3_000, 16);
      assertThat(job.rank(0).snapshot().counter("retries_pending")).isPositive();
    }
  }

  // On: inproc
  @Test
  void norWithAlmostNoCredit() {
    try (LciTestJob job = LciTestJob.start(2)) {
      echo(job, 300, 1);
    }
  }

  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void norUnderChaos(int seed) {
    String chaos = "seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2";
    try (LciTestJob job =
        LciTestJob.start(2, LciOptions.builder().attribute("chaos", chaos).build())) {
      echo(job, 1_000, 8);
      assertThat(job.rank(0).snapshot().counter("chaos_refused")).isPositive();
    }
  }

  /** One port for both: replies overtake the requests that wait for credit there. */
  @Test
  void repliesOvertakeWhatWaitsForTheSamePort() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime asks = job.rank(0);
      LciRuntime answers = job.rank(1);
      Inbox replies = asks.inbox(REPLIES, room(2, 8));
      Mono<Message> asked = answers.inbox(REQUESTS).receive().next();
      Message request = both(asked, asks.post(request(5)));
      // The port that the reply goes to gets more than it takes
      List<Integer> accepted = new CopyOnWriteArrayList<>();
      IntStream.range(0, 10)
          .forEach(
              i ->
                  answers
                      .post(Op.am(0, REPLIES, Payload.empty()).tag(100 + i))
                      .subscribe(c -> accepted.add(i)));
      await().atMost(LIMIT).until(() -> answers.snapshot().counter("loop_parked") > 0);
      answers.post(reply(request)).block(LIMIT);
      assertThat(accepted).hasSizeLessThan(10);
      List<Long> tags = replies.receive(m -> m.tag()).take(11).collectList().block(LIMIT);
      assertThat(tags).hasSize(11).contains(5L);
    }
  }

  @Test
  void aRequestWaitsForRoomAndCancelledItHoldsNone() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime asks = job.rank(0);
      Inbox replies = asks.inbox(REPLIES, room(1, 8));
      List<Message> requests = new CopyOnWriteArrayList<>();
      Disposable taking = job.rank(1).inbox(REQUESTS).receive().subscribe(requests::add);
      asks.post(request(1)).block(LIMIT);
      Disposable second = asks.post(request(2)).subscribe();
      await().atMost(LIMIT).until(() -> asks.snapshot().counter("loop_parked") == 1);
      Mono<?> third = asks.post(request(3)).cache();
      third.subscribe();
      second.dispose();
      await().atMost(LIMIT).until(() -> requests.size() == 1);
      assertThat(asks.snapshot().counter("retries_pending")).isPositive();
      job.rank(1).post(reply(requests.get(0))).block(LIMIT);
      assertThat(replies.receive(m -> m.getLong(0)).next().block(LIMIT)).isEqualTo(3);
      third.block(LIMIT);
      await().atMost(LIMIT).until(() -> requests.size() == 2);
      assertThat(requests.get(1).tag()).isEqualTo(3);
      job.rank(1).post(reply(requests.get(1))).block(LIMIT);
      assertThat(replies.receive(m -> m.getLong(0)).next().block(LIMIT)).isEqualTo(9);
      taking.dispose();
    }
  }

  /** A reply that nobody has taken keeps its room, also while the subscriber is away. */
  @Test
  void theRoomIsFreeWhenTheReplyIsTaken() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime asks = job.rank(0);
      Inbox replies = asks.inbox(REPLIES, room(1, 8));
      Disposable answering =
          job.rank(1)
              .inbox(REQUESTS)
              .receive()
              .flatMap(m -> job.rank(1).post(reply(m)))
              .subscribe();
      Disposable left = replies.receive().subscribe(); // taps, and goes
      left.dispose();
      asks.post(request(1)).block(LIMIT);
      await().atMost(LIMIT).until(() -> replies.depth() == 1);
      Mono<?> second = asks.post(request(2)).cache();
      second.subscribe();
      await().atMost(LIMIT).until(() -> asks.snapshot().counter("loop_parked") == 1);
      asks.barrier().and(job.rank(1).barrier()).block(LIMIT);
      assertThat(asks.snapshot().counter("loop_parked")).isEqualTo(1);
      assertThat(replies.receive(m -> m.tag()).take(2).collectList().block(LIMIT))
          .containsExactly(1L, 2L);
      second.block(LIMIT);
      answering.dispose();
    }
  }

  /** Stored or on its way: a request that is thrown away gives its room back. */
  @Test
  void aDiscardedRequestGivesItsRoomBack() {
    Port other = Port.of(63, "other");
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime asks = job.rank(0);
      Inbox replies = asks.inbox(REPLIES, room(4, 8));
      Inbox closing = job.rank(1).inbox(REQUESTS); // nobody takes them
      Flux.range(0, 4).concatMap(i -> asks.post(request(i))).then().block(LIMIT);
      await().atMost(LIMIT).until(() -> closing.depth() == 4);
      closing.dispose();
      closing.onClose().block(LIMIT);
      Disposable answering =
          job.rank(1).inbox(other).receive().flatMap(m -> job.rank(1).post(reply(m))).subscribe();
      Flux<?> again =
          Flux.range(0, 8)
              .flatMap(i -> asks.post(Op.am(1, other, Payload.ofLong(i)).tag(i).replyTo(REPLIES)));
      assertThat(both(replies.receive().take(8).count(), again.then())).isEqualTo(8);
      answering.dispose();
    }
  }

  @Test
  void aDeadPeerGivesItsRoomBack() {
    try (LciTestJob job = LciTestJob.start(3)) {
      LciRuntime asks = job.rank(0);
      Inbox replies = asks.inbox(REPLIES, room(1, 8));
      Inbox requests = job.rank(1).inbox(REQUESTS);
      asks.post(request(1)).block(LIMIT);
      await().atMost(LIMIT).until(() -> requests.depth() == 1);
      Disposable answering =
          job.rank(2)
              .inbox(REQUESTS)
              .receive()
              .flatMap(m -> job.rank(2).post(reply(m)))
              .subscribe();
      Mono<?> second = asks.post(Op.am(2, REQUESTS, Payload.ofLong(2)).replyTo(REPLIES)).cache();
      second.subscribe();
      await().atMost(LIMIT).until(() -> asks.snapshot().counter("loop_parked") == 1);
      job.rank(1).disposeGracefully(Duration.ofSeconds(10)).block(LIMIT);
      assertThat(replies.receive(m -> m.getLong(0)).next().block(LIMIT)).isEqualTo(6);
      second.block(LIMIT);
      answering.dispose();
    }
  }

  @Test
  void whatMakesNoSenseIsRefused() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime asks = job.rank(0);
      assertThatThrownBy(() -> asks.post(request(1)))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("replyRoom");
      assertThatThrownBy(() -> room(-1, 0)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> asks.inbox(REPLIES, room(1, asks.maxEager() + 1)))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("size");
      Inbox replies = asks.inbox(REPLIES, room(1, 8));
      Mono<Message> asked = job.rank(1).inbox(REQUESTS).receive().next();
      Message request = both(asked, asks.post(request(7)));
      LciRuntime answers = job.rank(1);
      Mono<?> tooLong = answers.post(Op.reply(0, REPLIES, Payload.of(new byte[9])));
      assertThatThrownBy(() -> tooLong.block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("error_size");
      answers.post(reply(request)).block(LIMIT);
      assertThatThrownBy(() -> answers.post(reply(request)).block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("error_argument")
          .hasMessageContaining("no request of that rank is left to be answered");
      assertThat(replies.receive(m -> m.getLong(0)).next().block(LIMIT)).isEqualTo(21);
      // Its room outlives the inbox, and cannot become another.
      replies.dispose();
      replies.onClose().block(LIMIT);
      assertThatThrownBy(() -> asks.inbox(REPLIES, room(2, 8)))
          .isInstanceOf(IllegalArgumentException.class);
      Inbox again = asks.inbox(REPLIES, room(1, 8));
      Disposable answering =
          answers.inbox(REQUESTS).receive().flatMap(m -> answers.post(reply(m))).subscribe();
      assertThat(both(again.receive(m -> m.getLong(0)).next(), asks.post(request(8))))
          .isEqualTo(24);
      answering.dispose();
    }
  }

  private static <T> T both(Mono<T> first, Mono<?> second) {
    return Mono.zip(first, second.then(Mono.just(true))).block(LIMIT).getT1();
  }
}
