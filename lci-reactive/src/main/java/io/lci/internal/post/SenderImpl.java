/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.AmOp;
import io.lci.Op;
import io.lci.PostResult;
import io.lci.am.Encoder;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.lane.UserBuffer;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.Signals;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A sender: a port, a home loop, and the destinations already looked up. */
final class SenderImpl implements Sender {
  private final Outbox outbox;
  private final EventLoop loop;
  private final Port port;
  private final int device;
  private final SenderOptions options;

  /** Each message goes by the sender's device. */
  private final Consumer<AmOp.Advanced> advanced;

  /** By rank. Loop only. */
  private final @Nullable Destination[] destinations;

  SenderImpl(Outbox outbox, int device, Port port, SenderOptions options, int ranks) {
    this.outbox = outbox;
    this.loop = outbox.loop;
    this.device = device;
    this.port = port;
    this.options = options;
    this.advanced = a -> a.device(device);
    this.destinations = new Destination[ranks];
  }

  @Override
  public Port port() {
    return port;
  }

  Outbox outbox() {
    return outbox;
  }

  int device() {
    return device;
  }

  SenderOptions options() {
    return options;
  }

  Destination destination(int rank) {
    Destination found = destinations[rank];
    if (found == null) {
      found = outbox.destinations.get(Destination.AM, outbox.laneDevice(device), rank, port);
      destinations[rank] = found;
    }
    return found;
  }

  /** The room that each message asks for, or 0. */
  int replyRoom() {
    Port replyTo = options.replyTo();
    return replyTo == null ? 0 : outbox.core.replyRooms.id(replyTo);
  }

  LciException error(int rank, String code, String hint) {
    return new LciException(new Detail("am", rank, port.number(), device, code, hint));
  }

  @Override
  public Mono<Void> send(int rank, Payload payload) {
    outbox.core.checkRank(rank);
    Op op = message(rank, payload);
    UserBuffer.check(op, outbox.core.identity);
    Duration deadline = options.deadline();
    return Signals.on(
        options.signalOn(),
        new MonoOp<>(outbox, deadline == null ? op : op.deadline(deadline), OpResult.NOTHING));
  }

  /** One message, without a deadline. */
  Op message(int rank, Payload payload) {
    AmOp op = Op.am(rank, port, payload);
    if (device != 0) {
      op = op.advanced(advanced);
    }
    Port replyTo = options.replyTo();
    return replyTo == null ? op : op.replyTo(replyTo);
  }

  /** Elements that cost an object each only where they have deadlines. */
  private <T, R> BulkRun<T, R> bulk(
      CoreSubscriber<? super R> actual,
      int rank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder) {
    Duration deadline = options.deadline();
    return new BulkRun<>(
        outbox,
        actual,
        options.window(),
        router == null || options.stopOnError(),
        run ->
            deadline == null
                ? new BulkSend<>(run, this, rank, router, encoder)
                : new TimedSend<>(run, this, rank, router, encoder, deadline));
  }

  @Override
  public <T> Mono<Void> sendAll(int rank, Publisher<T> items, Encoder<? super T> encoder) {
    outbox.core.checkRank(rank);
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(encoder, "encoder");
    return Signals.on(
        options.signalOn(),
        new Mono<Void>() {
          @Override
          public void subscribe(CoreSubscriber<? super Void> actual) {
            if (loop.isDisposed()) {
              Operators.error(actual, loop.closed("send to " + port));
              return;
            }
            SenderImpl.this.<T, Void>bulk(actual, rank, null, encoder).subscribeTo(items);
          }
        });
  }

  @Override
  public <T> Flux<PostResult<T>> route(
      Publisher<T> items, ToIntFunction<? super T> rank, Encoder<? super T> encoder) {
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(rank, "rank");
    Objects.requireNonNull(encoder, "encoder");
    return Signals.on(
        options.signalOn(),
        new Flux<PostResult<T>>() {
          @Override
          public void subscribe(CoreSubscriber<? super PostResult<T>> actual) {
            if (loop.isDisposed()) {
              Operators.error(actual, loop.closed("send to " + port));
              return;
            }
            SenderImpl.this.<T, PostResult<T>>bulk(actual, -1, rank, encoder).subscribeTo(items);
          }
        });
  }
}
