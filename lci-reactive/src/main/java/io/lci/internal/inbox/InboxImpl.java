/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciSnapshot;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.MessageHandler;
import io.lci.am.MessageView;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.completion.Completion;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.Relay;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.IgnoringSubscriber;
import io.lci.internal.loop.Signals;
import io.lci.nativebridge.Codes;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * An open port, or a part of one, as users see it: the ways to consume it. {@link Delivery} hands
 * on its messages, {@link InboxLife} opens and ends it.
 */
public final class InboxImpl implements OpenInbox, HeapTarget {
  private static final byte[] NOTHING = {};

  private final Port port;
  private final InboxOptions options;
  private final @Nullable PartitionedInbox whole;
  private final InboxLife life;
  private final Delivery delivery;

  public InboxImpl(Inboxes inboxes, InboxLoop home, Port port, InboxOptions options) {
    this.port = port;
    this.options = options;
    this.whole = null;
    this.life = new InboxLife(home, port, options, 0, null, () -> inboxes.forget(this));
    this.delivery = life.delivery();
  }

  /** One part of a port. */
  InboxImpl(InboxLoop home, Port port, InboxOptions options, int part, PartitionedInbox whole) {
    this.port = port;
    this.options = options;
    this.whole = whole;
    this.life = new InboxLife(home, port, options, part, whole, () -> whole.forget(this));
    this.delivery = life.delivery();
  }

  /** The messages of the inbox; for tests. */
  public Delivery delivery() {
    return delivery;
  }

  public EventLoop loop() {
    return delivery.loop();
  }

  // As a completion target

  @Override
  public CoreRuntime core() {
    return loop().core();
  }

  @Override
  public int reserve(Relay relay, int device) {
    if (!life.isGone() && delivery.places.take(relay)) {
      return Codes.DONE;
    }
    return life.isGone() ? Codes.ERR_CLOSED : Codes.RETRY_NOMEM; // its end wakes those refused
  }

  @Override
  public void giveBack(Relay relay) {
    delivery.places.giveBack();
  }

  /** A failure brings no message. */
  @Override
  public boolean ended(Completion completion, boolean reserved) {
    if (!reserved) {
      return false;
    }
    if (completion.error() != null || life.isGone()) {
      delivery.places.giveBack();
      return false;
    }
    Message brought = completion.message();
    Message message =
        brought == null ? new Message(completion.rank(), completion.tag(), NOTHING) : brought;
    return loop().execute(() -> delivery.ended(message));
  }

  @Override
  public boolean takesFailures() {
    return false;
  }

  // Opening and closing

  /** Opens the port. Loop only. */
  void open() {
    life.open();
  }

  /** The loop ended before it could open. */
  public void openRejected() {
    life.openRejected();
  }

  /** Waits for the loop to open the port; not on a loop's thread. */
  void awaitOpen() {
    life.awaitOpen();
  }

  @Override
  public void dispose() {
    if (whole == null) {
      disposeHere();
    } else {
      whole.dispose();
    }
  }

  void disposeHere() {
    life.dispose();
  }

  @Override
  public boolean isDisposed() {
    return life.isDisposed();
  }

  @Override
  public Mono<Void> onClose() {
    return life.onClose();
  }

  // What there is

  @Override
  public Port port() {
    return port;
  }

  @Override
  public int depth() {
    return delivery.depth();
  }

  /** Messages of peers that are gone, which wait for room here: not in the depth. Loop only. */
  public int leftBehind() {
    return delivery.leftBehind();
  }

  @Override
  public List<Inbox> partitions() {
    return List.of(this);
  }

  @Override
  public int capacity() {
    return options.messages();
  }

  @Override
  public LciSnapshot.InboxState state() {
    int depth = depth();
    return new LciSnapshot.InboxState(
        port.toString(), depth, capacity(), delivery.retained(), stall(depth));
  }

  /** Any thread: what the loop knows is read as it is now. */
  private LciSnapshot.Stall stall(int depth) {
    if (depth == 0) {
      return LciSnapshot.Stall.NONE;
    }
    InboxTap<?> live = delivery.tap.live();
    if (live == null) {
      return LciSnapshot.Stall.NO_SUBSCRIBER;
    }
    if (live.demand == 0) {
      return LciSnapshot.Stall.NO_DEMAND;
    }
    return live.allowance() == 0 ? LciSnapshot.Stall.RETAINED : LciSnapshot.Stall.NONE;
  }

  // Consuming

  @Override
  public <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder) {
    Objects.requireNonNull(decoder, "decoder");
    Intake<T> intake = new Decoding<>(decoder);
    return Signals.on(
        options.signalOn(),
        new Flux<T>() {
          @Override
          public void subscribe(CoreSubscriber<? super T> actual) {
            attach(actual, intake);
          }
        });
  }

  @Override
  public Flux<Message> receive() {
    return receive(MessageView::copy);
  }

  @Override
  public Flux<List<Message>> receiveBatches(int max) {
    return batches(max, null);
  }

  @Override
  public <T> Flux<List<T>> receiveBatches(
      int max, Function<? super MessageView, ? extends T> decoder) {
    Objects.requireNonNull(decoder, "decoder");
    return batches(max, decoder);
  }

  /** Without a decoder T is {@link Message}. */
  private <T> Flux<List<T>> batches(
      int max, @Nullable Function<? super MessageView, ? extends T> decoder) {
    if (max < 1) {
      throw new IllegalArgumentException("a batch has room for at least 1: " + max);
    }
    return Signals.on(
        options.signalOn(),
        new Flux<List<T>>() {
          @Override
          public void subscribe(CoreSubscriber<? super List<T>> actual) {
            attach(actual, new Batching<>(max, decoder));
          }
        },
        max);
  }

  @Override
  public Flux<RetainedMessage> receiveRetained() {
    Intake<RetainedMessage> intake = new Retaining(delivery);
    Flux<RetainedMessage> here =
        new Flux<>() {
          @Override
          public void subscribe(CoreSubscriber<? super RetainedMessage> actual) {
            attach(actual, intake);
          }
        };
    return options.signalOn() == null
        ? here
        : Signals.on(options.signalOn(), here)
            .doOnDiscard(RetainedMessage.class, RetainedMessage::release);
  }

  @Override
  public Disposable handle(MessageHandler handler) {
    Objects.requireNonNull(handler, "handler");
    RuntimeException failure = life.failure("handle messages of " + port);
    if (failure != null) {
      throw failure;
    }
    InboxTap<Object> handling =
        new InboxTap<>(
            delivery,
            new IgnoringSubscriber(port + " handler"),
            new Handling(delivery.loop(), port, handler));
    IllegalStateException refusal = claim(handling);
    if (refusal != null) {
      throw refusal;
    }
    handling.request(Long.MAX_VALUE);
    return new Disposable() {
      @Override
      public void dispose() {
        handling.cancel();
      }

      @Override
      public boolean isDisposed() {
        return handling.isOver();
      }
    };
  }

  private <T> void attach(CoreSubscriber<? super T> actual, Intake<T> intake) {
    InboxTap<T> candidate = new InboxTap<>(delivery, actual, intake);
    RuntimeException failure = life.failure("receive from " + port);
    if (failure == null) {
      failure = claim(candidate);
    }
    if (failure != null) {
      Operators.error(actual, failure);
    } else {
      candidate.begin();
    }
  }

  /** One live subscriber at a time; a cancelled one makes room at once. */
  private @Nullable IllegalStateException claim(InboxTap<?> candidate) {
    InboxTap<?> before = delivery.tap.claim(candidate);
    return before == null
        ? null
        : new IllegalStateException(
            "inbox "
                + port
                + " has a live subscriber: "
                + before.subscriber()
                + "; use share() to serve several");
  }

  @Override
  public boolean hasSubscriber() {
    return delivery.tap.live() != null;
  }
}
