/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Encoder;
import io.lci.am.Inbox;
import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;
import io.lci.am.Sender;
import io.lci.error.LciClosedException;
import io.lci.error.LciException.Detail;
import io.lci.internal.lane.HeapWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Ranks without a core: one thread is everybody's loop, messages lie in a list until they are
 * delivered one by one, in the order of a seed or as they were sent. What happens when is up to the
 * test.
 */
final class FakeNet {
  /** A message that was sent and not delivered. */
  record Packet(int from, int to, long tag, byte[] bytes) {
    FrameType type() {
      return FrameType.of(bytes[0]);
    }

    boolean has(int flag) {
      return (bytes[1] & flag) != 0;
    }

    long exchange() {
      return new Message(from, tag, bytes).getLong(8);
    }
  }

  private record Task(int rank, Runnable body) {}

  private static final int SENDER_WINDOW = 64;

  final VirtualTimeScheduler clock = VirtualTimeScheduler.create();
  final List<Sessions> ranks = new ArrayList<>();
  final List<Packet> packets = new ArrayList<>();

  /** All that was ever sent. */
  final List<Packet> sent = new ArrayList<>();

  /** Messages to these ranks are refused: they wait at their senders. */
  final java.util.Set<Integer> full = new java.util.HashSet<>();

  /** Loops of these ranks have other tasks to run: theirs wait, but what comes is dispatched. */
  final java.util.Set<Integer> busy = new java.util.HashSet<>();

  /** Announced without credit: they are in no inbox. */
  private final List<Packet> behind = new ArrayList<>();

  private final Map<Inbox, Integer> ranksOf = new IdentityHashMap<>();

  /** Whether what tasks throw is kept in {@link #uncaught}, as a loop logs it and goes on. */
  boolean keepsUncaught;

  final List<Throwable> uncaught = new ArrayList<>();

  /** How often user code threw where nobody can be told. */
  final AtomicInteger faults = new AtomicInteger();

  private volatile Thread thread = Thread.currentThread();
  private final ArrayDeque<Task> tasks = new ArrayDeque<>();
  private final Random random;
  private final Map<Integer, Function<MessageView, ?>> inboxes = new HashMap<>();
  private final Map<Integer, Sinks.Many<PeerEvent>> events = new HashMap<>();
  private final List<Wire> wires = new ArrayList<>();
  private final Map<Integer, Sinks.Many<Object>> inboxEnds = new HashMap<>();

  /** Delivers in the order of sending. */
  FakeNet(int size) {
    this(size, LciOptions.defaults(), null);
  }

  /**
   * @param random which message is delivered next; null for the first
   */
  FakeNet(int size, LciOptions options, Random random) {
    this.random = random;
    LciOptions all = options.timer() == null ? options.mutate().timer(clock).build() : options;
    for (int i = 0; i < size; i++) {
      events.put(i, Sinks.many().replay().all());
      Sessions sessions = new Sessions(runtime(i, size, all), home(i));
      sessions.open();
      ranks.add(sessions);
    }
    settle();
  }

  private Home home(int rank) {
    return new Home() {
      @Override
      public boolean inLoop() {
        return Thread.currentThread() == thread;
      }

      @Override
      public void execute(Runnable task, Runnable rejected) {
        synchronized (tasks) {
          tasks.add(new Task(rank, task));
        }
      }

      @Override
      public LciClosedException closed(String operation) {
        return new LciClosedException(Detail.of(operation, "error_closed", "closed"));
      }

      @Override
      public void refuseClosed(String operation) {}

      @Override
      public void countUncaught() {
        faults.incrementAndGet();
      }

      @Override
      public int leftBehind(Inbox inbox) {
        int owner = ranksOf.get(inbox);
        return (int) behind.stream().filter(p -> p.to == owner).count();
      }
    };
  }

  Sessions rank(int index) {
    return ranks.get(index);
  }

  /** From now on this thread is everybody's loop; null: none is. */
  void drivenBy(Thread other) {
    thread = other;
  }

  // Time

  /** Runs what is to be run, without delivering anything. */
  void settle() {
    for (Runnable task = nextTask(); task != null; task = nextTask()) {
      try {
        task.run();
      } catch (RuntimeException e) {
        if (!keepsUncaught) {
          throw e;
        }
        uncaught.add(e);
      }
    }
    for (Wire wire : List.copyOf(wires)) {
      wire.flush();
    }
    Runnable more = nextTask();
    if (more != null) {
      more.run();
      settle();
    }
  }

  private Runnable nextTask() {
    return takeTask(task -> !busy.contains(task.rank));
  }

  private Runnable takeTask(Predicate<Task> wanted) {
    synchronized (tasks) {
      for (Iterator<Task> all = tasks.iterator(); all.hasNext(); ) {
        Task task = all.next();
        if (wanted.test(task)) {
          all.remove();
          return task.body;
        }
      }
      return null;
    }
  }

  /** Runs one task of a rank that is busy. */
  void runTask(int rank) {
    Objects.requireNonNull(takeTask(task -> task.rank == rank), "no task waits").run();
  }

  /** Delivers one message, if there is one, and what it causes. */
  boolean step() {
    settle();
    if (packets.isEmpty()) {
      return false;
    }
    deliver(packets.remove(random == null ? 0 : random.nextInt(packets.size())));
    return true;
  }

  void deliver(Packet packet) {
    packets.remove(packet);
    inboxes.get(packet.to).apply(new Message(packet.from, packet.tag, packet.bytes));
    settle();
  }

  /** There is no room for it, and its sender ends. */
  void leaveBehind(Packet packet) {
    packets.remove(packet);
    behind.add(packet);
  }

  /** There is room for what was left behind, after all that came meanwhile. */
  void makeRoom() {
    packets.addAll(behind);
    behind.clear();
  }

  /** Delivers until nothing is on its way. */
  void run() {
    while (step()) {
      // goes on
    }
  }

  /** Delivers so many messages. */
  void steps(int messages) {
    for (int i = 0; i < messages && step(); i++) {
      // goes on
    }
  }

  /** Delivers until a message of this kind was sent; it is on its way then. */
  Packet runUntil(Predicate<Packet> wanted) {
    while (true) {
      settle();
      for (Packet packet : packets) {
        if (wanted.test(packet)) {
          return packet;
        }
      }
      if (!step()) {
        throw new AssertionError("no such message was sent; sent: " + sent);
      }
    }
  }

  /** As if the peer had sent these bytes. */
  void inject(int from, int to, long tag, byte[] bytes) {
    deliver(new Packet(from, to, tag, bytes));
  }

  void die(int rank, PeerEvent.State state) {
    for (int other = 0; other < ranks.size(); other++) {
      if (other != rank) {
        events.get(other).emitNext(new PeerEvent(rank, state), Sinks.EmitFailureHandler.FAIL_FAST);
      }
    }
    settle();
  }

  /** What one rank sends to the other is refused from now on, for this reason. */
  void breaks(int from, int to, Throwable reason) {
    for (Wire wire : List.copyOf(wires)) {
      if (wire.from == from && wire.to == to) {
        wire.parked.clear();
        wire.cancel();
        wire.sink.error(reason);
      }
    }
    settle();
  }

  void close(int rank, Throwable reason) {
    inboxEnds.get(rank).emitError(reason, Sinks.EmitFailureHandler.FAIL_FAST);
    settle();
  }

  long counter(int rank, String name) {
    Map<String, Long> all = new HashMap<>();
    Sessions.count(rank(rank), all);
    return all.get(name);
  }

  /** Exchanges of a rank that did not end. */
  long open(int rank) {
    return counter(rank, "exchanges_opened") - counter(rank, "exchanges_ended");
  }

  // The runtime as far as sessions need it

  private LciRuntime runtime(int rank, int size, LciOptions options) {
    return proxy(
        LciRuntime.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "rank" -> rank;
              case "size" -> size;
              case "options" -> options;
              case "maxEager" -> 2_048;
              case "peerEvents" -> events.get(rank).asFlux();
              case "inbox" -> inbox(rank);
              case "sender" -> sender(rank);
              default -> throw new AssertionError("not in this test: " + method);
            });
  }

  @SuppressWarnings("unchecked")
  private Inbox inbox(int rank) {
    Inbox inbox =
        proxy(
            Inbox.class,
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "depth" -> (int) packets.stream().filter(p -> p.to == rank).count();
                  case "receive" -> {
                    inboxes.put(rank, (Function<MessageView, ?>) arguments[0]);
                    inboxEnds.put(rank, Sinks.many().multicast().onBackpressureBuffer());
                    yield inboxEnds.get(rank).asFlux();
                  }
                  default -> throw new AssertionError("not in this test: " + method);
                });
    ranksOf.put(inbox, rank);
    return inbox;
  }

  @SuppressWarnings("unchecked")
  private Sender sender(int from) {
    return proxy(
        Sender.class,
        (self, method, arguments) -> {
          if (!method.getName().equals("sendAll")) {
            throw new AssertionError("not in this test: " + method);
          }
          int to = (int) arguments[0];
          Publisher<Object> frames = (Publisher<Object>) arguments[1];
          Encoder<Object> encoder = (Encoder<Object>) arguments[2];
          return Mono.<Void>create(
              sink -> {
                Wire wire = new Wire(from, to, encoder, sink);
                wires.add(wire);
                Flux.from(frames).subscribe(wire);
              });
        });
  }

  @SuppressWarnings("unchecked")
  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
  }

  /** Takes what its window holds, and lets it wait while the destination is full. */
  private final class Wire extends BaseSubscriber<Object> {
    private final int from;
    private final int to;
    private final Encoder<Object> encoder;
    private final MonoSink<Void> sink;
    private final ArrayDeque<Object> parked = new ArrayDeque<>();

    Wire(int from, int to, Encoder<Object> encoder, MonoSink<Void> sink) {
      this.from = from;
      this.to = to;
      this.encoder = encoder;
      this.sink = sink;
    }

    @Override
    protected void hookOnSubscribe(Subscription subscription) {
      request(SENDER_WINDOW);
    }

    @Override
    protected void hookOnNext(Object frame) {
      parked.add(frame);
      if (parked.size() > SENDER_WINDOW) {
        throw new AssertionError("more frames than were asked for");
      }
    }

    void flush() {
      while (!full.contains(to) && !parked.isEmpty()) {
        Recorder out = new Recorder();
        encoder.encode(parked.poll(), out);
        Packet packet = new Packet(from, to, out.tag, out.bytes.toByteArray());
        packets.add(packet);
        sent.add(packet);
        request(1);
      }
    }

    @Override
    protected void hookOnError(Throwable error) {
      sink.error(error);
    }
  }

  /** A message as it is written. */
  static final class Recorder implements PayloadWriter {
    long tag;
    final HeapWriter bytes = new HeapWriter(-1, 1 << 26);

    @Override
    public PayloadWriter tag(long value) {
      tag = value;
      return this;
    }

    @Override
    public PayloadWriter putByte(int value) {
      bytes.putByte(value);
      return this;
    }

    @Override
    public PayloadWriter putShort(int value) {
      bytes.putShort(value);
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
      bytes.putBytes(source, offset, length);
      return this;
    }

    @Override
    public PayloadWriter putBytes(ByteBuffer source) {
      bytes.putBytes(source);
      return this;
    }

    @Override
    public PayloadWriter putLongs(long[] source, int offset, int count) {
      bytes.putLongs(source, offset, count);
      return this;
    }

    @Override
    public int size() {
      return bytes.size();
    }
  }
}
