/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * How an inbox opens and ends. A port is opened by its loop, and disposed by any thread; it is
 * forgotten once, and its subscriber is told of its end.
 */
final class InboxLife {
  private final EventLoop loop;
  private final Lane lane;
  private final Port port;
  private final InboxOptions options;

  /** Which part of {@link #whole} the inbox is. */
  private final int part;

  private final @Nullable PartitionedInbox whole;

  /** Takes the inbox out of the runtime's table. */
  private final Runnable forget;

  private final Delivery delivery;
  private final Sinks.Empty<Void> closed = Sinks.empty();
  private final CountDownLatch opening = new CountDownLatch(1);
  private volatile @Nullable RuntimeException openFailure;
  private volatile boolean disposed;

  // Loop only
  private boolean forgotten;

  /** It was closed before its turn to open came. */
  private boolean closedUnopened;

  /** Why it was closed, or could not be opened; null if the user disposed it. */
  private @Nullable RuntimeException ending;

  InboxLife(
      InboxLoop home,
      Port port,
      InboxOptions options,
      int part,
      @Nullable PartitionedInbox whole,
      Runnable forget) {
    this.loop = home.loop;
    this.lane = home.lane;
    this.port = port;
    this.options = options;
    this.part = part;
    this.whole = whole;
    this.forget = forget;
    this.delivery = new Delivery(home, port, options, this);
  }

  Delivery delivery() {
    return delivery;
  }

  // Opening

  /** Opens the port. Loop only. */
  void open() {
    if (closedUnopened) {
      over();
      opening.countDown();
      return;
    }
    try {
      if (disposed || loop.isClosing()) {
        throw gone("open port " + port);
      }
      if (options.replies() > 0) {
        loop.core().replyRooms.open(port, options.replies(), options.replyBytes());
      }
      openInLane();
    } catch (RuntimeException e) {
      openFailure = e;
      ending = e;
      forget();
      if (whole != null) {
        whole.dispose(); // a port does without none of its parts
      }
      tellNotOpened(e);
    } finally {
      opening.countDown();
    }
  }

  private void openInLane() {
    NativeScratch out = new NativeScratch(3);
    ByteBuffer name = NativeMemory.cString(port.name());
    Errors.check(
        lane.calls,
        lane.calls.laneOpenPart(
            lane.handle,
            port.number(),
            NativeMemory.address(name),
            part,
            whole == null ? 1 : options.partitions(),
            options.messages(),
            options.bytes(),
            out.address(0),
            out.address(1),
            out.address(2)),
        "open port " + port,
        loop.firstDevice());
    Reference.reachabilityFence(name);
    boolean hasStore = out.getLong(1) != 0 && out.getLong(2) > 0;
    delivery.begin(
        out.getInt(0), hasStore ? NativeMemory.wrap(out.getLong(1), out.getLong(2)) : null);
  }

  /** The loop ended before it could open. A subscriber that came on the loop is told, too. */
  void openRejected() {
    RuntimeException failure = loop.closed("open port " + port);
    forget();
    openFailure = failure;
    ending = failure;
    tellNotOpened(failure);
  }

  /** A subscriber that throws keeps nobody else from knowing. */
  private void tellNotOpened(RuntimeException reason) {
    InboxTap<?> waiting = delivery.release();
    try {
      if (waiting != null) {
        waiting.fail(reason);
      }
    } finally {
      closed.tryEmitError(reason);
      opening.countDown();
    }
  }

  private RuntimeException gone(String operation) {
    return loop.core().ending.gone(operation, "inbox", "LciRuntime.inbox opens the port anew");
  }

  /** Waits for the loop to open the port; not on a loop's thread. */
  void awaitOpen() {
    boolean interrupted = false;
    while (true) {
      try {
        opening.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    RuntimeException failure = openFailure;
    if (failure != null) {
      throw failure;
    }
  }

  // The end

  /** Any thread. */
  void dispose() {
    if (!disposed) {
      disposed = true;
      loop.execute(() -> close(null));
    }
  }

  /**
   * Closes the port and ends the subscriber: complete, or with {@code error}. Loop only, outside
   * dispatch.
   */
  void close(@Nullable RuntimeException error) {
    if (!disposed) {
      disposed = true;
      ending = error;
    }
    int place = delivery.end();
    if (place >= 0) {
      int code = lane.closePort(place);
      loop.enterSoon();
      if (Codes.isError(code)) {
        loop.uncaught(
            new IllegalStateException("close port " + port + ": " + Errors.name(lane.calls, code)));
      }
    }
    closedUnopened = opening.getCount() > 0; // the one before may be open still
    if (!closedUnopened) {
      forget();
    }
    InboxTap<?> last = delivery.release();
    try {
      if (last != null) {
        last.settle();
        tell(last, error);
      }
    } finally { // whatever the subscriber throws: others wait for the port
      if (!closedUnopened) {
        over();
      }
    }
  }

  /** No more in the table of the runtime; at most once. */
  private void forget() {
    if (!forgotten) {
      forgotten = true;
      forget.run();
    }
  }

  /** The port may be opened anew. */
  private void over() {
    forget();
    closed.tryEmitEmpty();
  }

  /** Whether a subscriber that comes now can only be told of the end. Loop only. */
  boolean isOver() {
    return ending != null || disposed;
  }

  /** Tells a subscriber of the end. Loop only. */
  void tell(InboxTap<?> tap) {
    tell(tap, ending);
  }

  private static void tell(InboxTap<?> tap, @Nullable RuntimeException error) {
    if (error == null) {
      tap.complete();
    } else {
      tap.fail(error);
    }
  }

  // Any thread

  /** Why nothing can be taken any more, if so. */
  @Nullable RuntimeException failure(String operation) {
    RuntimeException failure = openFailure;
    return failure == null && disposed ? gone(operation) : failure;
  }

  boolean isDisposed() {
    return disposed;
  }

  /** Whether it takes nothing any more. */
  boolean isGone() {
    return disposed || openFailure != null;
  }

  Mono<Void> onClose() {
    return closed.asMono();
  }
}
