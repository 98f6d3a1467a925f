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
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The snippets of {@code docs/guide/operations.md}. */
@ExtendWith(LciLeakCheck.class)
class OperationsGuideTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port GREETINGS = Port.of(21, "greetings");
  private static final Port ARRIVED = Port.of(22, "arrived");
  private static final Port QUESTIONS = Port.of(23, "questions");
  private static final Port ANSWERS = Port.of(24, "answers");

  private int saved;

  @Test
  void manyOperations() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(100 * Long.BYTES);
      for (int i = 0; i < 100; i++) {
        region.view(8L * i, Long.BYTES).putLong(0, (long) i * i);
      }
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      // show: many
      PostOptions options =
          PostOptions.builder().window(32).deadline(Duration.ofSeconds(30)).build();
      Flux<Long> squares =
          lci.post(Flux.range(0, 100), i -> Op.get(memory, 8L * i, Long.BYTES), options)
              .map(result -> result.completion().message().getLong(0));
      // end
      assertThat(squares.reduce(0L, Long::sum).block(LIMIT)).isEqualTo(328_350);
      memory.dispose();
    }
  }

  // Proves: C1
  // On: inproc
  @Test
  void activeMessage() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      Mono<Message> greeted = job.rank(1).inbox(GREETINGS).receive().next();
      // show: am
      Op greeting = Op.am(1, GREETINGS, Payload.ofUtf8("hello")).tag(7);
      Mono<Completion> sent = lci.post(greeting);
      // end
      Message message = both(greeted, sent);
      assertThat(message.utf8()).isEqualTo("hello");
      assertThat(message.tag()).isEqualTo(7);
      assertThat(message.rank()).isZero();
    }
  }

  @Test
  void requestAndReply() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      // show: request
      Inbox answers = lci.inbox(ANSWERS, InboxOptions.builder().replyRoom(64, 1024).build());
      Op question = Op.am(1, QUESTIONS, Payload.ofLong(6)).tag(1).replyTo(ANSWERS);
      Mono<Long> answer = lci.post(question).then(answers.receive(m -> m.getLong(0)).next());
      // end
      // show: reply
      Poster poster = peer.loops().get(0).poster();
      Disposable answering =
          peer.inbox(QUESTIONS)
              .handle(
                  m -> {
                    Payload product = Payload.ofLong(7 * m.getLong(0));
                    poster.submit(Op.reply(m.rank(), ANSWERS, product).tag(m.tag()));
                  });
      // end
      assertThat(answer.block(LIMIT)).isEqualTo(42);
      answering.dispose();
    }
  }

  @Test
  void checkpoint() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      // show: checkpoint
      Mono<List<PeerEvent>> quiet = lci.drainedEverywhere().timeout(Duration.ofSeconds(30));
      Mono<Void> checkpoint =
          quiet.flatMap(gone -> gone.isEmpty() ? save() : Mono.error(lost(gone)));
      // end
      assertThat(Mono.zip(checkpoint.thenReturn(1), job.rank(1).drainedEverywhere()).block(LIMIT))
          .isNotNull();
      assertThat(saved).isEqualTo(1);
      job.rank(1).close();
      assertThatThrownBy(() -> checkpoint.block(LIMIT)).hasMessage("lost: 1");
    }
  }

  private Mono<Void> save() {
    return Mono.fromRunnable(() -> saved++);
  }

  private static Exception lost(List<PeerEvent> gone) {
    return new IllegalStateException("lost: " + gone.get(0).rank());
  }

  // Proves: C1
  // On: inproc
  @Test
  void send() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      // show: send
      Mono<Completion> sent = lci.post(Op.send(1, 42, Payload.ofLong(4711)));
      // end
      // show: receive
      Mono<Message> received = peer.post(Op.receive(0, 42, 1024)).map(Completion::message);
      // end
      assertThat(both(received, sent).getLong(0)).isEqualTo(4711);
    }
  }

  @Test
  void receiveIntoABuffer() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(1);
      Mono<Completion> sent =
          job.rank(0)
              .post(Op.send(1, 43, Payload.ofLong(5)).advanced(a -> a.matching(Op.Policy.TAG)));
      // show: receive-buffer
      LciBuffer target = lci.memory().buffer(1 << 20);
      Mono<Completion> received = lci.post(Op.receive(Op.ANY_SOURCE, 43, target));
      // end
      Completion completion = both(received, sent);
      assertThat(completion.rank()).isZero();
      assertThat(completion.size()).isEqualTo(8);
      assertThat(target.view().getLong(0)).isEqualTo(5);
    }
  }

  // Proves: C1
  // On: inproc
  @Test
  void putAndGet() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime owner = job.rank(1);
      LciRuntime lci = job.rank(0);
      // show: region
      MemoryRegion region = owner.memory().allocate(1 << 20);
      byte[] handle = region.handle(); // brought to the other rank by any means
      RemoteMemory memory = lci.memory().remote(1, handle);
      // end
      // show: put
      Mono<Completion> written = lci.post(Op.put(memory, 128, Payload.ofLong(99)));
      // end
      written.block(LIMIT);
      assertThat(region.view(128, 8).getLong(0)).isEqualTo(99);
      // show: get
      LciBuffer copy = lci.memory().buffer(4096);
      Mono<Completion> read = lci.post(Op.get(memory, 128, copy));
      // end
      read.block(LIMIT);
      assertThat(copy.view().getLong(0)).isEqualTo(99);
      // show: get-bytes
      Mono<byte[]> bytes = memory.get(128, 8);
      // end
      assertThat(bytes.block(LIMIT)).startsWith(99);
      // show: atomic
      Mono<Long> ticket = memory.addAndGet(128, 1); // the value afterwards
      Mono<Completion> before = lci.post(Op.getAndAdd(memory, 128, 1)); // its tag: before
      // end
      assertThat(ticket.block(LIMIT)).isEqualTo(100);
      assertThat(before.block(LIMIT).tag()).isEqualTo(100);
      region.dispose();
    }
  }

  // Proves: C1
  // On: inproc
  @Test
  void putAndGetWithSignal() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(4096);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      Mono<Long> told =
          job.rank(1).inbox(ARRIVED).receive(m -> m.tag()).take(2).reduce(0L, Long::sum);
      // show: put-signal
      Mono<Completion> written = lci.post(Op.put(memory, 0, Payload.ofLong(99)).signal(ARRIVED, 3));
      // end
      // show: get-signal
      LciBuffer copy = lci.memory().buffer(8);
      Mono<Completion> read = lci.post(Op.get(memory, 0, copy).signal(ARRIVED, 4));
      // end
      assertThat(both(told, written.then(read))).isEqualTo(7);
      assertThat(copy.view().getLong(0)).isEqualTo(99);
      region.dispose();
    }
  }

  @Test
  void aHandlerAsTarget() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(8);
      region.view(0, 8).putLong(0, 12);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      LongAdder sum = new LongAdder();
      // show: handler
      Op told =
          Op.get(memory, 0, 8)
              .completeTo(
                  completion -> { // on the loop; must not block
                    if (completion.error() == null) {
                      sum.add(completion.message().getLong(0));
                    }
                  });
      // end
      lci.post(told).block(LIMIT);
      await().atMost(LIMIT).until(() -> sum.sum() == 12);
    }
  }

  // Proves: A8
  // On: inproc
  @Test
  void optionsInAnyOrder() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      // show: options
      CompletionQueue queue = lci.completions().queue(QueueOptions.defaults());
      Op op =
          Op.am(1, GREETINGS, Payload.ofUtf8("hello"))
              .completeTo(queue) // signals the queue when it ends
              .userContext(17) // comes back in the completion
              .deadline(Duration.ofSeconds(30))
              .advanced(a -> a.semantic(Op.Semantic.NETWORK)); // ends when the receiver has it
      // end
      Op same =
          Op.am(1, GREETINGS, Payload.ofUtf8("hello"))
              .deadline(Duration.ofSeconds(30))
              .advanced(a -> a.semantic(Op.Semantic.NETWORK))
              .userContext(17)
              .completeTo(queue);
      Mono<Long> greeted = job.rank(1).inbox(GREETINGS).receive().take(3).count();
      // One description, two operations; and one with the options in another order.
      Mono<Void> posted = lci.post(op).then(lci.post(op)).then(lci.post(same)).then();
      assertThat(both(greeted, posted)).isEqualTo(3);
      List<Completion> ended = queue.completions().take(3).collectList().block(LIMIT);
      assertThat(ended).hasSize(3).containsOnly(ended.get(0));
      assertThat(ended.get(0).userContext()).isEqualTo(17);
      queue.dispose();
    }
  }

  @Test
  void listsOfBuffers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      // show: list
      LciBuffer header = lci.memory().buffer(16);
      LciBuffer body = lci.memory().buffer(100_000);
      Mono<Completion> sent = lci.post(Op.send(1, 44, LciBuffer.list(header, body)));
      // end
      header.view().putLong(0, 1);
      body.view().putLong(99_992, 2);
      Message received = both(job.rank(1).tagged().receive(0, 44, 200_000), sent);
      assertThat(received.size()).isEqualTo(100_016);
      assertThat(received.getLong(0)).isEqualTo(1);
      assertThat(received.getLong(100_008)).isEqualTo(2);
    }
  }

  @Test
  void listsOfPlaces() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(4096);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      // show: places
      LciBuffer low = lci.memory().buffer(8);
      LciBuffer high = lci.memory().buffer(16);
      List<RemotePlace> places = List.of(memory.at(0), memory.at(2048));
      Mono<Completion> written = lci.post(Op.put(places, LciBuffer.list(low, high)));
      Mono<Completion> read = lci.post(Op.get(memory, 2040, LciBuffer.list(low, high)));
      // end
      low.view().putLong(0, 1);
      high.view().putLong(0, 2).putLong(8, 3);
      assertThat(written.block(LIMIT).size()).isEqualTo(24);
      assertThat(region.view(2048, 16).order(ByteOrder.LITTLE_ENDIAN).getLong(8)).isEqualTo(3);
      assertThat(read.block(LIMIT).size()).isEqualTo(24);
      assertThat(high.view().getLong(0)).isEqualTo(2);
      assertThat(low.view().getLong(0)).isZero();
      region.dispose();
    }
  }

  @Test
  void enginesWithKeys() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      // show: engine
      EngineOptions evenAndOdd =
          EngineOptions.builder().keys((rank, tag, policy) -> tag & 1).build();
      MatchingEngine engine = lci.tagged().engine(5, evenAndOdd); // on every rank
      Mono<Completion> sent = lci.post(Op.send(1, 3, Payload.ofLong(8)).engine(engine));
      // end
      MatchingEngine there = peer.tagged().engine(5, evenAndOdd);
      Mono<Completion> received = peer.post(Op.receive(0, 1, 8).engine(there));
      assertThat(both(received, sent).message().getLong(0)).isEqualTo(8);
      engine.dispose();
      there.dispose();
    }
  }

  @Test
  void graphs() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(4096);
      RemoteMemory memory = lci.memory().remote(1, region.handle());
      Mono<Message> greeted = job.rank(1).inbox(GREETINGS).receive().next();
      // show: graph
      CompletionGraph.Builder nodes = lci.completions().graph();
      Node<Completion> put = nodes.op(Op.put(memory, 0, Payload.ofLong(99)));
      Node<Completion> tell = nodes.op(Op.am(1, GREETINGS, Payload.ofUtf8("it is there")));
      Node<Long> bytes = nodes.call(done -> done.get(put).size() + done.get(tell).size());
      nodes.before(put, tell).before(tell, bytes);
      CompletionGraph graph = nodes.build();
      Mono<Long> moved = graph.run().map(done -> done.get(bytes));
      // end
      assertThat(both(moved, greeted)).isEqualTo(19);
      assertThat(region.view(0, 8).order(ByteOrder.LITTLE_ENDIAN).getLong(0)).isEqualTo(99);
      graph.dispose();
      memory.dispose();
      region.dispose();
    }
  }

  /** Subscribes both; returns what the first brought. */
  private static <T> T both(Mono<T> first, Mono<?> second) {
    return Mono.zip(first, second.then(Mono.just(true))).block(LIMIT).getT1();
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("operations.md", OperationsGuideTest.class, 21);
  }
}
