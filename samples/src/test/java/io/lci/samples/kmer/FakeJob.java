/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciLoop;
import io.lci.LciRuntime;
import io.lci.PostOutcome;
import io.lci.PostResult;
import io.lci.Poster;
import io.lci.am.Encoder;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Ranks in memory, just as much of the public API as the two passes use. Messages of a port are
 * handed over in random order, so that an END overtakes data in every run, and a port holds few
 * messages, so that senders must wait.
 */
final class FakeJob implements AutoCloseable {
  private static final int PORT_CAPACITY = 8;

  private final List<FakeRuntime> ranks;
  private final Map<String, FakeInbox> inboxes = new ConcurrentHashMap<>();
  private final List<Sinks.Empty<Void>> barriers = new ArrayList<>();
  private final List<Integer> arrived = new ArrayList<>();
  private final Random random;

  FakeJob(int size, int loops, long seed) {
    random = new Random(seed);
    ranks = IntStream.range(0, size).mapToObj(rank -> new FakeRuntime(rank, size, loops)).toList();
  }

  LciRuntime rank(int rank) {
    return ranks.get(rank).proxy();
  }

  @Override
  public void close() {
    ranks.forEach(r -> r.schedulers.forEach(Scheduler::dispose));
  }

  private FakeInbox inboxOf(int rank, Port port) {
    return inboxes.computeIfAbsent(rank + "/" + port, name -> new FakeInbox(port));
  }

  private synchronized Mono<Void> arrive(FakeRuntime rank) {
    int number = rank.barriers++;
    if (number == barriers.size()) {
      barriers.add(Sinks.empty());
      arrived.add(0);
    }
    arrived.set(number, arrived.get(number) + 1);
    Sinks.Empty<Void> barrier = barriers.get(number);
    if (arrived.get(number) == ranks.size()) {
      barrier.tryEmitEmpty();
    }
    return barrier.asMono();
  }

  private synchronized int pick(int bound) {
    return random.nextInt(bound);
  }

  /** Only what the job calls; anything else fails. */
  private final class FakeRuntime {
    final int rank;
    final int size;
    final List<Scheduler> schedulers;
    int barriers;

    FakeRuntime(int rank, int size, int loops) {
      this.rank = rank;
      this.size = size;
      this.schedulers =
          IntStream.range(0, loops)
              .mapToObj(i -> Schedulers.newSingle("fake-" + rank + "-" + i, true))
              .toList();
    }

    LciRuntime proxy() {
      return (LciRuntime)
          Proxy.newProxyInstance(
              getClass().getClassLoader(),
              new Class<?>[] {LciRuntime.class},
              (self, method, args) ->
                  switch (method.getName()) {
                    case "rank" -> rank;
                    case "size" -> size;
                    case "loops" -> loops();
                    case "barrier" -> Mono.defer(() -> arrive(this));
                    case "inbox" -> inbox(args);
                    case "sender" -> sender(args);
                    default -> throw new UnsupportedOperationException(method.toString());
                  });
    }

    private List<LciLoop> loops() {
      return IntStream.range(0, schedulers.size())
          .mapToObj(i -> (LciLoop) new FakeLoop(i, schedulers.get(i)))
          .toList();
    }

    private Inbox inbox(Object[] args) {
      int loop = args.length > 1 ? ((InboxOptions) args[1]).loop() : 0;
      FakeInbox inbox = inboxOf(rank, (Port) args[0]);
      inbox.open(schedulers.get(loop));
      return inbox;
    }

    private Sender sender(Object[] args) {
      int loop = args.length > 1 ? ((SenderOptions) args[1]).loop() : 0;
      return new FakeSender(rank, (Port) args[0], schedulers.get(loop));
    }
  }

  private record FakeLoop(int index, Scheduler scheduler) implements LciLoop {
    @Override
    public boolean inLoop() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Poster poster() {
      throw new UnsupportedOperationException();
    }

    @Override
    public List<Integer> devices() {
      return List.of(index);
    }

    @Override
    public int poll() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int poll(java.time.Duration limit) {
      throw new UnsupportedOperationException();
    }

    @Override
    public <T> T await(Mono<T> mono, java.time.Duration limit) {
      throw new UnsupportedOperationException();
    }
  }

  private record Arrival(Message message, Sinks.Empty<Void> accepted) {}

  private final class FakeInbox implements Inbox {
    private final Port port;
    private final List<Message> stored = new ArrayList<>();
    private final Queue<Arrival> waiting = new ArrayDeque<>();
    private final Sinks.Many<Boolean> arrivals = Sinks.many().unicast().onBackpressureBuffer();
    private Scheduler loop = Schedulers.immediate();

    FakeInbox(Port port) {
      this.port = port;
    }

    synchronized void open(Scheduler home) {
      loop = home;
    }

    synchronized Mono<Void> offer(Message message) {
      Arrival arrival = new Arrival(message, Sinks.empty());
      waiting.add(arrival);
      admit();
      return arrival.accepted.asMono();
    }

    private void admit() {
      while (stored.size() < PORT_CAPACITY && !waiting.isEmpty()) {
        Arrival arrival = waiting.remove();
        stored.add(arrival.message);
        arrival.accepted.tryEmitEmpty();
        arrivals.tryEmitNext(true);
      }
    }

    private synchronized Message takeAny() {
      Message message = stored.remove(pick(stored.size()));
      admit();
      return message;
    }

    @Override
    public Port port() {
      return port;
    }

    @Override
    public List<Inbox> partitions() {
      return List.of(this);
    }

    @Override
    public <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder) {
      return arrivals.asFlux().publishOn(loop, 1).map(any -> decoder.apply(takeAny()));
    }

    @Override
    public Flux<Message> receive() {
      return receive(MessageView::copy);
    }

    @Override
    public Flux<List<Message>> receiveBatches(int max) {
      throw new UnsupportedOperationException("the job takes messages one by one");
    }

    @Override
    public <T> Flux<List<T>> receiveBatches(
        int max, Function<? super MessageView, ? extends T> decoder) {
      throw new UnsupportedOperationException("the job takes messages one by one");
    }

    @Override
    public Flux<RetainedMessage> receiveRetained() {
      throw new UnsupportedOperationException("the job does not retain messages");
    }

    @Override
    public Disposable handle(io.lci.am.MessageHandler handler) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int depth() {
      throw new UnsupportedOperationException();
    }

    @Override
    public int capacity() {
      return PORT_CAPACITY;
    }

    @Override
    public Mono<Void> onClose() {
      return Mono.never();
    }

    @Override
    public void dispose() {}
  }

  private final class FakeSender implements Sender {
    private final int from;
    private final Port port;
    private final Scheduler loop;

    FakeSender(int from, Port port, Scheduler loop) {
      this.from = from;
      this.port = port;
      this.loop = loop;
    }

    @Override
    public Port port() {
      return port;
    }

    @Override
    public Mono<Void> send(int rank, Payload payload) {
      return sendAll(rank, Mono.just(payload), (p, out) -> p.writeTo(out));
    }

    @Override
    public <T> Mono<Void> sendAll(int rank, Publisher<T> items, Encoder<? super T> encoder) {
      return route(items, item -> rank, encoder).then();
    }

    @Override
    public <T> Flux<PostResult<T>> route(
        Publisher<T> items, ToIntFunction<? super T> rank, Encoder<? super T> encoder) {
      return Flux.from(items)
          .publishOn(loop, 4)
          .concatMap(item -> deliver(item, rank.applyAsInt(item), encoder));
    }

    private <T> Mono<PostResult<T>> deliver(T item, int to, Encoder<? super T> encoder) {
      FakeWriter out = new FakeWriter();
      encoder.encode(item, out);
      return inboxOf(to, port)
          .offer(new Message(from, 0, out.bytes()))
          .publishOn(loop)
          .thenReturn(new PostResult<>(item, to, PostOutcome.DONE, null, null));
    }
  }

  private static final class FakeWriter implements PayloadWriter {
    private final ByteBuffer bytes = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);

    byte[] bytes() {
      return Arrays.copyOf(bytes.array(), bytes.position());
    }

    @Override
    public PayloadWriter tag(long value) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PayloadWriter putByte(int value) {
      bytes.put((byte) value);
      return this;
    }

    @Override
    public PayloadWriter putShort(int value) {
      bytes.putShort((short) value);
      return this;
    }

    @Override
    public PayloadWriter putInt(int value) {
      bytes.putInt(value);
      return this;
    }

    @Override
    public PayloadWriter putLong(long value) {
      bytes.putLong(value);
      return this;
    }

    @Override
    public PayloadWriter putBytes(byte[] source, int offset, int length) {
      bytes.put(source, offset, length);
      return this;
    }

    @Override
    public PayloadWriter putBytes(ByteBuffer source) {
      bytes.put(source.duplicate());
      return this;
    }

    @Override
    public PayloadWriter putLongs(long[] source, int offset, int count) {
      for (int i = offset; i < offset + count; i++) {
        bytes.putLong(source[i]);
      }
      return this;
    }

    @Override
    public int size() {
      return bytes.position();
    }
  }
}
