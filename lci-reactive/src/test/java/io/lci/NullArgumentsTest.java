/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Encoder;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.MessageHandler;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.collective.ReduceOp;
import io.lci.collective.StreamOptions;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionHandler;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Completions;
import io.lci.completion.QueueOptions;
import io.lci.matching.EngineOptions;
import io.lci.matching.MakeKey;
import io.lci.matching.MatchingEngine;
import io.lci.matching.Tagged;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.Memory;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.stream.Streams;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A null where none may be is refused where it is given, by a message that names the argument. */
@ExtendWith(LciLeakCheck.class)
class NullArgumentsTest {
  private static final long LIMIT_SECONDS = 60;

  private final AtomicInteger numbers = new AtomicInteger(100);
  private final Map<Class<?>, Supplier<?>> valid = new HashMap<>();
  private final List<String> wrong = new ArrayList<>();
  private int refused;

  private <T> void give(Class<T> type, Supplier<? extends T> value) {
    valid.put(type, value);
  }

  private Port port() {
    return Port.of(numbers.getAndIncrement(), "a port");
  }

  /** What other arguments may be. */
  private void fill(LciRuntime lci, MemoryRegion region) {
    valid.put(int.class, () -> 0);
    valid.put(long.class, () -> 8L);
    valid.put(boolean.class, () -> true);
    valid.put(double.class, () -> 1.0);
    give(Object.class, () -> 5);
    give(String.class, () -> "name " + numbers.getAndIncrement());
    give(CharSequence.class, () -> "text");
    give(byte[].class, region::handle);
    give(long[].class, () -> new long[1]);
    give(int[].class, () -> new int[1]);
    give(ByteBuffer.class, () -> ByteBuffer.allocateDirect(8));
    give(Duration.class, () -> Duration.ofMillis(1));
    give(Scheduler.class, Schedulers::parallel);
    give(Publisher.class, Flux::empty);
    give(Mono.class, Mono::empty);
    give(Function.class, () -> (Function<Object, Object>) x -> x);
    give(ToIntFunction.class, () -> x -> 0);
    give(Consumer.class, () -> x -> {});
    give(Encoder.class, () -> (Encoder<Object>) (item, out) -> {});
    give(Codec.class, () -> Codec.INT);
    give(Port.class, this::port);
    give(Payload.class, Payload::empty);
    give(Op.class, Op::barrier);
    give(MessageHandler.class, () -> message -> {});
    give(Inbox.class, () -> lci.inbox(port()));
    give(CompletionHandler.class, () -> completion -> {});
    give(RpcHandler.class, () -> RpcHandler.response(m -> Mono.empty()));
    give(CompletionTarget.class, lci.completions()::counter);
    give(MemoryRegion.class, () -> region);
    give(RemoteMemory.class, () -> lci.memory().remote(0, region.handle()));
    give(LciBuffer.class, () -> lci.memory().buffer(8));
    give(LciBuffer[].class, () -> new LciBuffer[] {lci.memory().buffer(8)});
    give(BufferList.class, () -> new BufferList(List.of(lci.memory().buffer(8))));
    give(InboxOptions.class, InboxOptions::defaults);
    give(SenderOptions.class, SenderOptions::defaults);
    give(PostOptions.class, PostOptions::defaults);
    give(QueueOptions.class, QueueOptions::defaults);
    give(EngineOptions.class, EngineOptions::defaults);
    give(CallOptions.class, CallOptions::defaults);
    give(SubscribeOptions.class, SubscribeOptions::defaults);
    give(StreamOptions.class, StreamOptions::defaults);
    give(ReduceOp.class, () -> ReduceOp.SUM);
    give(StreamOptions.OnCancel.class, () -> StreamOptions.OnCancel.FAIL);
    give(StreamLimits.class, StreamLimits::defaults);
    give(IdleStrategy.class, IdleStrategy::parking);
    give(ProgressStrategy.class, ProgressStrategy::local);
    give(LciInstrumentation.class, () -> LciInstrumentation.NONE);
    give(Op.Semantic.class, () -> Op.Semantic.NETWORK);
    give(Op.Policy.class, () -> Op.Policy.RANK);
    give(QueueOptions.Kind.class, () -> QueueOptions.Kind.ARRAY);
    give(EngineOptions.Store.class, () -> EngineOptions.Store.MAP);
    give(MakeKey.class, () -> (rank, tag, policy) -> tag);
    give(List.class, () -> List.of(new RemotePlace(lci.memory().remote(0, region.handle()), 0)));
    give(
        MatchingEngine.class,
        () -> lci.tagged().engine(1 + numbers.getAndIncrement() % 200, EngineOptions.defaults()));
    CompletionGraph.Builder[] builder = {lci.completions().graph()};
    give(CompletionGraph.SignalNode.class, builder[0]::signal);
    give(CompletionGraph.Node.class, () -> builder[0].op(Op.barrier()));
  }

  private void check(Class<?> type, @Nullable Object target) {
    Method[] methods = type.getDeclaredMethods();
    Arrays.sort(methods, Comparator.comparing(Method::toString));
    for (Method method : methods) {
      boolean isStatic = Modifier.isStatic(method.getModifiers());
      boolean isOurs = Modifier.isPublic(method.getModifiers()) && !method.isSynthetic();
      if (isOurs && isStatic == (target == null)) {
        check(method, target);
      }
    }
  }

  private void check(Method method, @Nullable Object target) {
    Parameter[] parameters = method.getParameters();
    for (int i = 0; i < parameters.length; i++) {
      Parameter parameter = parameters[i];
      boolean mayBeNull = parameter.getAnnotatedType().isAnnotationPresent(Nullable.class);
      if (!parameter.getType().isPrimitive() && !mayBeNull && !method.getName().equals("equals")) {
        checkNull(method, target, i);
      }
    }
  }

  private void checkNull(Method method, @Nullable Object target, int index) {
    Parameter[] parameters = method.getParameters();
    Object[] arguments = new Object[parameters.length];
    String what = method.getDeclaringClass().getSimpleName() + '.' + method.getName();
    for (int i = 0; i < parameters.length; i++) {
      Supplier<?> value = valid.get(parameters[i].getType());
      if (value == null) {
        wrong.add(what + ": this test knows no valid " + parameters[i].getType());
        return;
      }
      boolean isNumber = parameters[i].getName().equals("number");
      arguments[i] = i == index ? null : isNumber ? (Object) 7 : value.get();
    }
    String name = parameters[index].getName();
    String call = what + '(' + Arrays.asList(parameters) + "), null " + name;
    try {
      method.setAccessible(true);
      method.invoke(target, arguments);
      wrong.add(call + ": is accepted");
    } catch (InvocationTargetException e) {
      Throwable thrown = e.getCause();
      String property = method.getName();
      if (thrown instanceof NullPointerException
          && (name.equals(thrown.getMessage()) || property.equalsIgnoreCase(thrown.getMessage()))) {
        refused++;
      } else {
        wrong.add(call + ": " + thrown);
      }
    } catch (IllegalAccessException e) {
      wrong.add(call + ": " + e);
    }
  }

  private static void onLoop(LciLoop loop, Runnable step) throws Exception {
    CompletableFuture<Void> done = new CompletableFuture<>();
    loop.scheduler()
        .schedule(
            () -> {
              try {
                step.run();
                done.complete(null);
              } catch (Throwable e) {
                done.completeExceptionally(e);
              }
            });
    done.get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }

  /** Options of all kinds, then those of one kind. */
  private void checkKinds(RemoteMemory memory) {
    AmOp am = Op.am(0, port(), Payload.empty());
    ReplyOp reply = Op.reply(0, port(), Payload.empty());
    SendOp send = Op.send(0, 1, Payload.empty());
    ReceiveOp receive = Op.receive(0, 1, 8);
    for (Op op :
        List.of(
            am,
            reply,
            send,
            receive,
            Op.put(memory, 0, Payload.ofLong(1)),
            Op.get(memory, 0, 8),
            Op.getAndAdd(memory, 0, 1),
            Op.barrier())) {
      check(op.getClass(), op);
    }
    am.advanced(a -> check(AmOp.Advanced.class, a));
    reply.advanced(a -> check(ReplyOp.Advanced.class, a));
    send.advanced(a -> check(SendOp.Advanced.class, a));
    receive.advanced(a -> check(ReceiveOp.Advanced.class, a));
  }

  @Test
  void isRefusedByName() throws Exception {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = lci.memory().allocate(64);
      fill(lci, region);
      check(LciRuntime.class, lci);
      check(Tagged.class, lci.tagged());
      check(Memory.class, lci.memory());
      check(Completions.class, lci.completions());
      check(Group.class, lci.world());
      check(GroupStreams.class, lci.world().streams());
      check(StreamOptions.Builder.class, StreamOptions.builder());
      check(Inbox.class, lci.inbox(port()));
      check(Sender.class, lci.sender(port()));
      check(Streams.class, lci.streams());
      check(Rpc.class, lci.rpc());
      check(RemoteMemory.class, lci.memory().remote(0, region.handle()));
      check(CompletionGraph.Builder.class, lci.completions().graph());
      check(LciOptions.Builder.class, LciOptions.builder());
      for (Class<?> statics :
          List.of(
              Op.class,
              Port.class,
              Payload.class,
              BufferList.class,
              Codec.class,
              RpcHandler.class,
              IdleStrategy.class,
              ProgressStrategy.class)) {
        check(statics, null);
      }
      checkKinds(lci.memory().remote(0, region.handle()));
      check(InboxOptions.Builder.class, InboxOptions.builder());
      check(SenderOptions.Builder.class, SenderOptions.builder());
      check(PostOptions.Builder.class, PostOptions.builder());
      check(QueueOptions.Builder.class, QueueOptions.builder());
      check(EngineOptions.Builder.class, EngineOptions.builder());
      check(CallOptions.Builder.class, CallOptions.builder());
      check(SubscribeOptions.Builder.class, SubscribeOptions.builder());
      LciLoop loop = lci.loops().get(0);
      onLoop(loop, () -> check(Poster.class, loop.poster()));
      assertThat(wrong).isEmpty();
      assertThat(refused).isPositive();
    }
  }
}
