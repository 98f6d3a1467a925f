/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import io.lci.AmOp;
import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.SenderOptions;
import io.lci.collective.CollectiveContext;
import io.lci.collective.CollectivePlan;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.rma.LciBuffer;
import io.lci.tck.Row.Kind;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** Every publisher of the library: the one table. */
final class Rows {
  /** Most elements that are laid ready in what stores them without a bound. */
  private static final int READY = 200;

  private Rows() {}

  /** Whose class is this library's own. */
  static List<Row> raw() {
    return List.of(
        row("Inbox.receive(decoder)", Kind.TAP, (w, n) -> w.fed().receive(m -> m.getLong(0)))
            .failing(w -> w.disposed().receive(m -> 0)),
        row("Inbox.receive()", Kind.TAP, (w, n) -> w.fed().receive())
            .failing(w -> w.disposed().receive()),
        row("Inbox.receiveRetained()", Kind.TAP, (w, n) -> w.fed().receiveRetained())
            .failing(w -> w.disposed().receiveRetained()),
        row("Inbox.receiveBatches(3)", Kind.TAP, (w, n) -> w.fed().receiveBatches(3))
            .failing(w -> w.disposed().receiveBatches(3)),
        row(
                "Inbox.receiveBatches(3, decoder)",
                Kind.TAP,
                (w, n) -> w.fed().receiveBatches(3, m -> m.getLong(0)))
            .failing(w -> w.disposed().receiveBatches(3, m -> 0)),
        row("CompletionQueue.completions()", Kind.TAP, Rows::queue)
            .failing(
                w -> {
                  CompletionQueue queue = w.here().completions().queue(QueueOptions.defaults());
                  queue.dispose();
                  return queue.completions();
                }),
        row("Synchronizer.firings()", Kind.TAP, (w, n) -> synchronizer(w, n).firings())
            .failing(w -> disposedSynchronizer(w).firings()),
        row("LciRuntime.peerEvents()", Kind.REPLAY, (w, n) -> w.left().peerEvents()).done(),
        row("Sender.route", Kind.COLD, Rows::route)
            .failing(w -> w.closedSender().route(Flux.just(1), i -> 0, (i, out) -> out.putInt(i))),
        row("Sender.route with deadlines", Kind.COLD, Rows::timedRoute)
            .failing(w -> w.closedSender().route(Flux.just(1), i -> 0, (i, out) -> out.putInt(i))),
        row("LciRuntime.post(Publisher)", Kind.COLD, Rows::posts)
            .failing(
                w ->
                    w.closed()
                        .post(
                            Flux.just(Op.am(0, w.sink(), Payload.empty())),
                            PostOptions.defaults())),
        row("LciRuntime.post(am)", Kind.ONE, (w, n) -> w.here().post(am(w)))
            .failing(w -> w.closed().post(Op.am(0, w.sink(), Payload.empty()))),
        row(
                "LciRuntime.post(get)",
                Kind.ONE,
                (w, n) -> w.here().post(Op.get(w.remote(), 0, Long.BYTES)))
            .failing(w -> w.closed().post(Op.get(w.closedRemote(), 0, Long.BYTES))),
        row("Tagged.receive", Kind.ONCE, Rows::receive)
            .failing(w -> w.closed().tagged().receive(0, 1)),
        row("Tagged.send", Kind.NONE, (w, n) -> w.alone().tagged().send(0, 1, Payload.empty()))
            .failing(w -> w.closed().tagged().send(0, 1, Payload.empty())),
        row("Sender.send", Kind.NONE, (w, n) -> w.here().sender(w.sink()).send(1, Payload.empty()))
            .failing(w -> w.closedSender().send(0, Payload.empty())),
        row("Sender.sendAll", Kind.NONE, Rows::sendAll)
            .failing(w -> w.closedSender().sendAll(0, Flux.just(1), (i, out) -> out.putInt(i))),
        row("RemoteMemory.put", Kind.NONE, (w, n) -> w.remote().put(0, Payload.ofLong(1)))
            .failing(w -> w.closedRemote().put(0, Payload.ofLong(1))),
        row("RemoteMemory.get(buffer)", Kind.NONE, Rows::get)
            .failing(w -> w.closedRemote().get(0, w.closedBuffer())),
        row(
                "RemoteMemory.putWithSignal",
                Kind.NONE,
                (w, n) -> w.remote().putWithSignal(0, Payload.ofLong(1), w.sink(), 1))
            .failing(w -> w.closedRemote().putWithSignal(0, Payload.ofLong(1), w.sink(), 1)),
        row(
                "RemoteMemory.getWithSignal",
                Kind.NONE,
                (w, n) -> w.remote().getWithSignal(0, w.here().memory().buffer(8), w.sink(), 1))
            .failing(w -> w.closedRemote().getWithSignal(0, w.closedBuffer(), w.sink(), 1)),
        row("LciRuntime.barrier", Kind.NONE, (w, n) -> w.alone().barrier())
            .failing(w -> w.closed().barrier()),
        row("LciRuntime.drained", Kind.NONE, (w, n) -> w.alone().drained())
            .failing(w -> w.closed().drained()),
        row("LciRuntime.drainedEverywhere", Kind.ONE, (w, n) -> w.alone().drainedEverywhere())
            .failing(w -> w.closed().drainedEverywhere()),
        row("World.exchange", Kind.ONE, (w, n) -> w.alone().world().exchange(new byte[1]))
            .failing(w -> w.closed().world().exchange(new byte[1])),
        // A firing for each subscriber of a rule, so that none waits for one that does not come
        row("Synchronizer.next()", Kind.ONCE, (w, n) -> synchronizer(w, n + 2).next())
            .failing(w -> disposedSynchronizer(w).next()),
        row(
                "Counter.reaches",
                Kind.ONE,
                (w, n) -> w.use(w.here().completions().counter()).reaches(0))
            .failing(
                w -> {
                  Counter counter = w.here().completions().counter();
                  counter.dispose();
                  return counter.reaches(1);
                }),
        row("CompletionGraph.run()", Kind.ONCE, (w, n) -> w.use(graph(w)).run())
            .failing(
                w -> {
                  CompletionGraph graph = graph(w);
                  graph.dispose();
                  return graph.run();
                }),
        row("Streams.subscribe", Kind.COLD, (w, n) -> w.subscribed(range(n)))
            .failing(w -> w.closedStreams().subscribe(0, "any", Codec.INT)),
        row(
                "GroupStreams.shuffle",
                Kind.COLD,
                (w, n) -> w.aloneStreams().shuffle(range(n), item -> 0, Codec.INT))
            .failing(w -> w.closedGroup().shuffle(range(1), item -> 0, Codec.INT)),
        row("GroupStreams.shuffle of two", Kind.COLD, (w, n) -> w.shuffled(range(n)))
            .failing(w -> w.closedGroup().shuffle(range(1), item -> 0, Codec.INT)),
        row(
                "GroupStreams.gather",
                Kind.COLD,
                (w, n) -> w.aloneStreams().gather(0, range(n), Codec.INT))
            .failing(w -> w.closedGroup().gather(0, range(1), Codec.INT)),
        row("GroupStreams.gather of two", Kind.COLD, (w, n) -> w.gathered(range(n)))
            .failing(w -> w.closedGroup().gather(0, range(1), Codec.INT)),
        row(
                "GroupStreams.broadcast",
                Kind.COLD,
                (w, n) -> w.aloneStreams().broadcast(0, range(n), Codec.INT))
            .failing(w -> w.closedGroup().broadcast(0, range(1), Codec.INT)),
        row("GroupStreams.broadcast of two", Kind.COLD, (w, n) -> w.broadcast(range(n)))
            .failing(w -> w.closedGroup().broadcast(0, range(1), Codec.INT)),
        row(
                "GroupStreams.allReduce",
                Kind.COPIES,
                (w, n) -> w.aloneStreams().allReduce(chunks(n), ReduceOp.SUM))
            .failing(w -> w.closedGroup().allReduce(chunks(1), ReduceOp.SUM)),
        row("GroupStreams.allReduce of two", Kind.COPIES, (w, n) -> w.reduced(chunks(n)))
            .failing(w -> w.closedGroup().allReduce(chunks(1), ReduceOp.SUM)),
        row(
                "Rpc.requestStream",
                Kind.COPIES,
                (w, n) -> w.here().rpc().requestStream(1, TckWorld.FUNCTION, Payload.ofLong(n)))
            .failing(w -> w.closedRpc().requestStream(0, "any", Payload.empty())),
        row(
                "Rpc.requestChannel",
                Kind.COPIES,
                (w, n) -> w.here().rpc().requestChannel(1, TckWorld.FUNCTION, payloads(n)))
            .failing(w -> w.closedRpc().requestChannel(0, "any", Flux.never())),
        row("requests given to RpcHandler", Kind.LINE, (w, n) -> w.requests(payloads(n)))
            .failing(w -> w.requests(Flux.error(new IllegalStateException("on purpose")))),
        row(
                "Rpc.requestResponse",
                Kind.ONE,
                (w, n) -> w.here().rpc().requestResponse(1, TckWorld.FUNCTION, Payload.ofLong(n)))
            .failing(w -> w.closedRpc().requestResponse(0, "any", Payload.empty())));
  }

  /** Which are made of operators, and inherit from them. */
  static List<Row> composed() {
    return List.of(
        row("LciRuntime.connect", Kind.ONE, (w, n) -> LciRuntime.connect(w.connecting()))
            .failing(w -> LciRuntime.connect(impossible())),
        row("Memory.exchange", Kind.ONE, (w, n) -> w.alone().memory().exchange(w.own()))
            .failing(w -> w.closed().memory().exchange(w.closedRegion())),
        row("Collectives.barrier", Kind.NONE, (w, n) -> w.alone().world().barrier())
            .failing(w -> w.closed().world().barrier()),
        row(
                "CollectiveContext.barrier",
                Kind.NONE,
                (w, n) -> w.alone().world().context(1).barrier())
            .failing(w -> disposedContext(w).barrier()),
        row("Collectives.allReduce(Vec)", Kind.NONE, (w, n) -> sum(w.alone()))
            .failing(w -> sum(w.closed())),
        row(
                "Collectives.allReduce(long)",
                Kind.ONE,
                (w, n) -> w.alone().world().allReduce(1, ReduceOp.SUM))
            .failing(w -> w.closed().world().allReduce(1, ReduceOp.SUM)),
        row(
                "CollectiveContext.allReduce(long[])",
                Kind.ONE,
                (w, n) -> w.alone().world().context(1).allReduce(new long[1], ReduceOp.SUM))
            .failing(w -> disposedContext(w).allReduce(new long[1], ReduceOp.SUM)),
        row("CollectivePlan.run", Kind.NONE, (w, n) -> plan(w.alone()).run())
            .failing(w -> plan(w.closed()).run()),
        // Numbers of runs go on from one subscriber to the next
        row("CollectivePlan.runs", Kind.COPIES, (w, n) -> plan(w.alone()).runs(range(n)))
            .failing(w -> plan(w.closed()).runs(range(1))),
        row("Collectives.allGather(codec)", Kind.ONE, (w, n) -> texts(w.alone()))
            .failing(w -> texts(w.closed())),
        row("Group.agree", Kind.ONE, (w, n) -> w.alone().world().agree(true))
            .failing(w -> w.closed().world().agree(true)),
        row("LciRuntime.peerGone", Kind.ONE, (w, n) -> w.left().peerGone(1)).done(),
        row("RemoteMemory.get(length)", Kind.ONE, (w, n) -> w.remote().get(0, Long.BYTES))
            .failing(w -> w.closedRemote().get(0, Long.BYTES)),
        row(
                "Rpc.fireAndForget",
                Kind.NONE,
                (w, n) -> w.here().rpc().fireAndForget(1, TckWorld.FUNCTION, Payload.empty()))
            .failing(w -> w.closedRpc().fireAndForget(0, "any", Payload.empty())),
        row(
                "MemoryRegion.disposeLater",
                Kind.NONE,
                (w, n) -> w.here().memory().allocate(Long.BYTES).disposeLater())
            .done(),
        row("Inbox.onClose()", Kind.NONE, (w, n) -> w.disposed().onClose()).done(),
        row("LciRuntime.onClose()", Kind.NONE, (w, n) -> w.closed().onClose()).done(),
        row(
                "LciRuntime.disposeGracefully",
                Kind.NONE,
                (w, n) -> w.closed().disposeGracefully(TckWorld.LIMIT))
            .done());
  }

  /** No core has such an attribute. */
  private static LciOptions impossible() {
    return LciOptions.builder().attribute("no_such_attribute", "1").build();
  }

  private static AmOp am(TckWorld world) {
    return Op.am(1, world.sink(), Payload.ofLong(1));
  }

  private static Publisher<?> queue(TckWorld world, long elements) {
    CompletionQueue queue =
        world.use(
            world
                .here()
                .completions()
                .queue(QueueOptions.builder().kind(QueueOptions.Kind.LINKED).build()));
    signal(world, queue, elements);
    return queue.completions();
  }

  private static Synchronizer synchronizer(TckWorld world, long elements) {
    Synchronizer synchronizer = world.use(world.here().completions().synchronizer(1));
    signal(world, synchronizer, elements);
    return synchronizer;
  }

  private static Publisher<?> sum(LciRuntime lci) {
    Vec one = Vec.longs(new long[1]);
    return lci.world().allReduce(one, one, ReduceOp.SUM);
  }

  private static Publisher<?> texts(LciRuntime lci) {
    return lci.world().allGather("text", Codec.UTF8);
  }

  /** Over two sets of memory. */
  static CollectivePlan plan(LciRuntime lci) {
    List<Vec> memory = List.of(Vec.longs(new long[1]), Vec.longs(new long[1]));
    return lci.world().plan().allReduce(memory, memory, ReduceOp.SUM).build();
  }

  private static CollectiveContext disposedContext(TckWorld w) {
    CollectiveContext context = w.alone().world().context(2);
    context.dispose();
    return context;
  }

  private static Synchronizer disposedSynchronizer(TckWorld world) {
    Synchronizer synchronizer = world.here().completions().synchronizer(1);
    synchronizer.dispose();
    return synchronizer;
  }

  private static void signal(TckWorld world, CompletionTarget target, long elements) {
    int count = (int) Math.min(elements, READY);
    Flux<Op> ops = Flux.range(0, count).map(i -> am(world).tag(i).completeTo(target));
    world.here().post(ops, PostOptions.defaults()).blockLast(TckWorld.LIMIT);
  }

  private static Publisher<?> route(TckWorld world, long elements) {
    return world
        .here()
        .sender(world.sink())
        .route(range(elements), n -> 1, (n, out) -> out.putLong(n));
  }

  private static Publisher<?> timedRoute(TckWorld world, long elements) {
    return world
        .here()
        .sender(world.sink(), SenderOptions.builder().deadline(TckWorld.LIMIT).build())
        .route(range(elements), n -> 1, (n, out) -> out.putLong(n));
  }

  private static Flux<Payload> payloads(long elements) {
    return range(elements).map(n -> Payload.ofLong(n));
  }

  private static Publisher<?> posts(TckWorld world, long elements) {
    return world.here().post(range(elements), n -> am(world).tag(n), PostOptions.defaults());
  }

  private static Publisher<?> sendAll(TckWorld world, long elements) {
    return world
        .here()
        .sender(world.sink())
        .sendAll(1, Flux.range(0, 10), (n, out) -> out.putLong(n));
  }

  private static Flux<Integer> range(long elements) {
    return Flux.range(0, (int) Math.min(elements, Integer.MAX_VALUE));
  }

  private static Flux<Vec> chunks(long elements) {
    return range(elements).map(n -> Vec.longs(new long[] {n}));
  }

  private static Publisher<?> receive(TckWorld world, long elements) {
    LciRuntime alone = world.alone();
    world.use(alone.tagged().send(0, 7, Payload.ofLong(7)).subscribe());
    return alone.tagged().receive(0, 7);
  }

  private static Publisher<?> get(TckWorld world, long elements) {
    LciBuffer target = world.here().memory().buffer(Long.BYTES);
    return world.remote().get(0, target);
  }

  private static CompletionGraph graph(TckWorld world) {
    CompletionGraph.Builder builder = world.here().completions().graph();
    builder.call(results -> 1);
    return builder.build();
  }

  private static Draft row(
      String name, Kind kind, BiFunction<TckWorld, Long, Publisher<?>> create) {
    return new Draft(name, kind, create);
  }

  /** A row that lacks its failure. */
  private record Draft(String name, Kind kind, BiFunction<TckWorld, Long, Publisher<?>> create) {
    Row failing(@Nullable Function<TckWorld, Publisher<?>> failed) {
      return new Row(name, kind, create, failed);
    }

    /** It cannot fail at once. */
    Row done() {
      return failing(null);
    }
  }
}
