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
import io.lci.internal.loop.PerLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A port whose messages several loops take, by tag: the core cuts it, this is all of it. */
final class PartitionedInbox implements OpenInbox {
  private final Inboxes inboxes;
  private final Port port;
  private final InboxOptions options;
  private final List<InboxImpl> parts = new ArrayList<>();
  private final AtomicInteger left;

  PartitionedInbox(Inboxes inboxes, PerLoop<InboxLoop> loops, Port port, InboxOptions options) {
    this.inboxes = inboxes;
    this.port = port;
    this.options = options;
    this.left = new AtomicInteger(options.partitions());
    int count = loops.all().size();
    loops.get(options.loop()); // it exists
    for (int part = 0; part < options.partitions(); part++) {
      InboxLoop home = loops.get((options.loop() + part) % count);
      parts.add(new InboxImpl(home, port, options, part, this));
    }
  }

  List<InboxImpl> parts() {
    return parts;
  }

  /** A part is closed, or could not be opened. */
  void forget(InboxImpl part) {
    assert parts.contains(part);
    if (left.decrementAndGet() == 0) {
      inboxes.forget(this);
    }
  }

  @Override
  public Port port() {
    return port;
  }

  @Override
  public <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder) {
    return Flux.error(this::inParts);
  }

  @Override
  public Flux<Message> receive() {
    return Flux.error(this::inParts);
  }

  @Override
  public Flux<List<Message>> receiveBatches(int max) {
    return Flux.error(this::inParts);
  }

  @Override
  public <T> Flux<List<T>> receiveBatches(
      int max, Function<? super MessageView, ? extends T> decoder) {
    return Flux.error(this::inParts);
  }

  @Override
  public Flux<RetainedMessage> receiveRetained() {
    return Flux.error(this::inParts);
  }

  @Override
  public Disposable handle(MessageHandler handler) {
    throw inParts();
  }

  /** Merging them would take messages ahead, and a cancel would lose those. */
  private IllegalStateException inParts() {
    return new IllegalStateException(
        "port " + port + " is in parts: subscribe to each of partitions()");
  }

  @Override
  public List<Inbox> partitions() {
    return List.copyOf(parts);
  }

  @Override
  public int depth() {
    return parts.stream().mapToInt(InboxImpl::depth).sum();
  }

  @Override
  public int capacity() {
    return options.messages();
  }

  @Override
  public boolean hasSubscriber() {
    return parts.stream().anyMatch(InboxImpl::hasSubscriber);
  }

  @Override
  public LciSnapshot.InboxState state() {
    List<LciSnapshot.InboxState> states = parts.stream().map(InboxImpl::state).toList();
    int retained = states.stream().mapToInt(LciSnapshot.InboxState::retained).sum();
    LciSnapshot.Stall stall =
        states.stream()
            .map(LciSnapshot.InboxState::stall)
            .filter(why -> why != LciSnapshot.Stall.NONE)
            .findFirst()
            .orElse(LciSnapshot.Stall.NONE);
    return new LciSnapshot.InboxState(port.toString(), depth(), capacity(), retained, stall);
  }

  @Override
  public Mono<Void> onClose() {
    return Mono.whenDelayError(parts.stream().map(InboxImpl::onClose).toList());
  }

  @Override
  public void dispose() {
    parts.forEach(InboxImpl::disposeHere);
  }

  @Override
  public boolean isDisposed() {
    return parts.get(0).isDisposed();
  }
}
