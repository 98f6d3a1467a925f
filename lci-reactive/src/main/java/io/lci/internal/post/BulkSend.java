/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Encoder;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.Drainable;
import io.lci.nativebridge.Codes;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Sends elements as active messages. One that fits a packet costs no object: it waits in the
 * outbox's own tables.
 *
 * @param <T> element
 */
final class BulkSend<T> extends SendElements<T> implements Submitter {
  private final Outbox outbox;
  private final Set<Destination> slowDestinations = new LinkedHashSet<>();
  private @Nullable Destination lastSlow;
  private @Nullable Destination lastTarget;

  BulkSend(
      BulkRun<T, ?> run,
      SenderImpl sender,
      int fixedRank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder) {
    super(run, sender, fixedRank, router, encoder);
    this.outbox = run.outbox;
  }

  @Override
  void submit(T item, int rank) {
    Destination destination = lastTarget;
    if (destination == null || destination.rank != rank) {
      destination = sender.destination(rank);
      lastTarget = destination;
    }
    outbox.submit(this, item, destination);
  }

  @Override
  boolean isHeldUp() {
    return hasOneRank() && lastTarget != null && lastTarget.soleOwner == this;
  }

  @Override
  void withdraw() {
    for (Destination destination : slowDestinations) {
      outbox.unparkAll(this, destination);
    }
    slowDestinations.clear();
    lastSlow = null;
  }

  // Submitter

  @Override
  public Op.Kind kind() {
    return Op.Kind.AM;
  }

  @Override
  @SuppressWarnings("unchecked") // items are what this submitted
  public int sizeHint(Object item) {
    return hint((T) item);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void encode(Object item, PostWriter out) {
    write((T) item, out);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public Posted posted(Object item) {
    return new PostedElement((T) item);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void accepted(Object item, Destination destination, int code, int slot) {
    if (slot == SlotTable.NONE) {
      if (isSilent()) {
        run.accepted();
      } else {
        report((T) item, destination.rank, code, null);
      }
    } else {
      // The element is reported when its memory is free again.
      ((PostedElement) outbox.slots.owner(slot)).accepted(destination, code);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void failed(Object item, Destination destination, RuntimeException reason) {
    report(
        (T) item,
        destination.rank,
        Codes.DONE,
        run.known(reason, destination.rank, destination.port, sender.device()));
  }

  @Override
  public boolean wants(Object item) {
    return run.isWanting();
  }

  /**
   * Frames of sessions are few, and one that is lost would end all streams and calls with a peer.
   */
  @Override
  public boolean waitsBeyondLimit() {
    return ReservedPorts.has(sender.port());
  }

  @Override
  public void parked(Object item, Destination destination, int node, int code) {
    if (destination != lastSlow) {
      lastSlow = destination;
      slowDestinations.add(destination);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void dropped(Object item, int code) {
    run.gone();
    run.discard((T) item);
  }

  @Override
  public Drainable drainable() {
    return run;
  }

  /** An element whose payload did not fit a packet: reported at the native signal. */
  private final class PostedElement implements Posted {
    private final T item;
    private @Nullable Destination destination;
    private int code;

    PostedElement(T item) {
      this.item = item;
    }

    void accepted(Destination to, int acceptedAs) {
      destination = to;
      code = acceptedAs;
    }

    @Override
    public void completed(
        int endCode, int rank, long tag, int size, @Nullable PooledBuffer memory) {
      Destination to = Objects.requireNonNull(destination);
      report(
          item, to.rank, code, endCode == Codes.DONE ? null : outbox.failures.failure(to, endCode));
    }

    @Override
    public void abandoned(RuntimeException reason) {
      BulkSend.this.failed(item, Objects.requireNonNull(destination), reason);
    }

    @Override
    public int boundRank() {
      return destination == null ? -1 : destination.rank;
    }

    @Override
    public boolean holdsClose() {
      return true;
    }

    @Override
    public boolean holdsFence() {
      return true;
    }
  }
}
