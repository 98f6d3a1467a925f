/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciLoop;
import io.lci.Op;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Completion objects as targets of operations and of arrivals, and inboxes. */
class ObjectRowsTest {
  private static final Port PORT = Port.of(31, "objects");
  private static final int COUNT = 120;

  /** Messages to the next rank whose ends signal the target. */
  private static Flux<Completion> post(World world, CompletionTarget target) {
    return Flux.range(0, COUNT)
        .flatMap(
            i ->
                world
                    .lci()
                    .post(
                        Op.am(world.next(), PORT, Payload.of(new byte[i * 97]))
                            .tag(i)
                            .userContext(-i)
                            .completeTo(target)),
            16);
  }

  // Proves: U5 E6 E7 E8
  @Everywhere
  void queues(Setting everywhere) {
    everywhere.run(
        world -> {
          Disposable handling = world.lci().inbox(PORT).handle(m -> {});
          for (QueueOptions.Kind kind : QueueOptions.Kind.values()) {
            CompletionQueue queue =
                world
                    .lci()
                    .completions()
                    .queue(QueueOptions.builder().kind(kind).capacity(COUNT).build());
            world.awaitAll(post(world, queue));
            List<Completion> first = world.await(queue.completions().take(7, true).collectList());
            List<Completion> rest =
                world.await(queue.completions().take(COUNT - 7, true).collectList());
            List<Completion> all = new ArrayList<>(first);
            all.addAll(rest);
            assertThat(all).allMatch(c -> c.error() == null && c.rank() == world.next());
            assertThat(all).allMatch(c -> c.userContext() == -c.tag() && c.size() == c.tag() * 97);
            assertThat(all)
                .extracting(Completion::tag)
                .containsExactlyInAnyOrderElementsOf(LongStream.range(0, COUNT).boxed().toList());
            assertThat(queue.length()).isZero();
            queue.dispose();
          }
          world.barrier();
          handling.dispose();
        });
  }

  /** Each operation calls its handler once, on the loop. */
  // Proves: E19
  @Everywhere
  void handlers(Setting everywhere) {
    everywhere.run(
        world -> {
          Disposable handling = world.lci().inbox(PORT).handle(m -> {});
          LciLoop loop = world.lci().loops().get(0);
          List<Completion> ended = Collections.synchronizedList(new ArrayList<>());
          CompletionHandler handler =
              completion -> {
                if (loop.inLoop()) {
                  ended.add(completion);
                }
              };
          Flux<Completion> posts =
              Flux.range(0, COUNT)
                  .flatMap(
                      i ->
                          world
                              .lci()
                              .post(
                                  Op.am(world.next(), PORT, Payload.of(new byte[i * 97]))
                                      .tag(i)
                                      .userContext(-i)
                                      .completeTo(handler)),
                      16);
          world.awaitAll(posts);
          world.barrier();
          assertThat(ended).hasSize(COUNT);
          assertThat(ended).allMatch(c -> c.error() == null && c.rank() == world.next());
          assertThat(ended).allMatch(c -> c.userContext() == -c.tag() && c.size() == c.tag() * 97);
          assertThat(ended)
              .extracting(Completion::tag)
              .containsExactlyInAnyOrderElementsOf(LongStream.range(0, COUNT).boxed().toList());
          handling.dispose();
        });
  }

  /** Few places, and operations beyond them wait: each brings its message once. */
  // Proves: E20
  @Everywhere
  void inboxesOfOperations(Setting everywhere) {
    everywhere.run(
        world -> {
          Disposable handling = world.lci().inbox(PORT).handle(m -> {});
          Inbox ends =
              world.lci().inbox(Port.of(33, "ends"), InboxOptions.builder().messages(7).build());
          Flux<Completion> posts =
              Flux.range(0, COUNT)
                  .flatMap(
                      i ->
                          world
                              .lci()
                              .post(
                                  Op.am(world.next(), PORT, Payload.of(new byte[i * 97]))
                                      .tag(i)
                                      .completeTo(ends)),
                      16);
          Mono<Long> told =
              ends.receive(m -> m.rank() == world.next() && m.size() == 0 ? m.tag() : -1)
                  .limitRate(3)
                  .take(COUNT)
                  .distinct()
                  .count();
          assertThat(world.await(Mono.zip(told, posts.count())).getT1()).isEqualTo(COUNT);
          world.barrier();
          assertThat(ends.depth()).isZero();
          handling.dispose();
        });
  }

  // Proves: E2 E12
  @Everywhere
  void synchronizersAndCounters(Setting everywhere) {
    everywhere.run(
        world -> {
          Disposable handling = world.lci().inbox(PORT).handle(m -> {});
          Synchronizer synchronizer = world.lci().completions().synchronizer(COUNT / 4);
          Mono<Long> tags =
              synchronizer
                  .firings()
                  .take(4)
                  .doOnNext(firing -> assertThat(firing).hasSize(COUNT / 4))
                  .flatMapIterable(firing -> firing)
                  .map(Completion::tag)
                  .distinct()
                  .count();
          assertThat(world.await(Mono.zip(tags, post(world, synchronizer).count())).getT1())
              .isEqualTo(COUNT);
          Counter counter = world.lci().completions().counter();
          world.awaitAll(counter.reaches(COUNT), post(world, counter));
          assertThat(counter.get()).isEqualTo(COUNT);
          world.barrier();
          handling.dispose();
        });
  }

  /** Arrivals of every rank in a queue, and counted by a counter. */
  // Proves: U5 E12
  @Everywhere
  void objectsBehindPorts(Setting everywhere) {
    everywhere.run(
        world -> {
          Port counted = Port.of(32, "counted");
          CompletionQueue queue =
              world.lci().completions().queue(QueueOptions.builder().capacity(2_048).build());
          Counter counter = world.lci().completions().counter();
          Disposable bound = world.lci().completions().bind(PORT, queue);
          Disposable boundToo = world.lci().completions().bind(counted, counter);
          long expected = (long) COUNT * world.size();
          Flux<Void> sent =
              Flux.range(0, world.size())
                  .flatMap(
                      to ->
                          Flux.merge(
                              sender(world, PORT, to).then(), sender(world, counted, to).then()));
          Mono<Long> received =
              queue
                  .completions()
                  .take(expected)
                  .map(c -> c.rank() * 1_000L + c.message().getLong(0))
                  .distinct()
                  .count();
          assertThat(world.await(Mono.zip(received, sent.then(Mono.just(1)))).getT1())
              .isEqualTo(expected);
          assertThat(world.await(counter.reaches(expected))).isEqualTo(expected);
          world.barrier();
          bound.dispose();
          boundToo.dispose();
        });
  }

  private static Mono<Void> sender(World world, Port port, int to) {
    return world.lci().sender(port).sendAll(to, Flux.range(0, COUNT), (n, out) -> out.putLong(n));
  }

  /** A small inbox with little demand: its senders wait, and everything comes once. */
  // Proves: U4 U6
  @Everywhere
  void aSlowInboxLosesNothing(Setting everywhere) {
    everywhere.run(
        world -> {
          Flux<Long> values =
              world
                  .lci()
                  .inbox(PORT, InboxOptions.builder().messages(16).build())
                  .receive(m -> m.rank() * 1_000L + m.getLong(0));
          long expected = (long) COUNT * world.size();
          Mono<Long> received = values.limitRate(3).take(expected).distinct().count();
          Flux<Void> sent = Flux.range(0, world.size()).flatMap(to -> sender(world, PORT, to));
          assertThat(world.await(Mono.zip(received, sent.then(Mono.just(1)))).getT1())
              .isEqualTo(expected);
        });
  }
}
