/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciLoop;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.rma.LciBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;

/**
 * The backend of the library, for one thread: a loop that this thread drives, with a device, a
 * queue of sent buffers and an inbox of its own. Threads with the same number talk to each other,
 * so every rank has as many. Only the thread that made it may use it.
 *
 * <p>It neither waits nor spins: what cannot be done now is answered with false or null, and the
 * layer above does something else meanwhile. {@link #doBackgroundWork} moves everything.
 */
final class RpcBackend implements AutoCloseable {
  private static final int FIRST_PORT = 1;

  /** Messages that may wait to be polled; the library keeps the rest. */
  private static final int POLL_AHEAD = 16;

  private final LciLoop loop;
  private final Port port;
  private final Consumer<LciBuffer> sendCallback;
  private final CompletionQueue sent;
  private final Received received = new Received();
  private final Map<Integer, LciBuffer> sending = new HashMap<>();
  private int lastSend;
  private long sentAtOnce;
  private long sentLater;
  private @Nullable Throwable failure;

  /**
   * Opens the port, from which moment on messages may come.
   *
   * @param lci a runtime whose loops are driven by threads of the program
   * @param thread number of the calling thread: 0 to the number of loops - 1
   * @param sendCallback gets each buffer back, once, when the library is done with it
   */
  RpcBackend(LciRuntime lci, int thread, Consumer<LciBuffer> sendCallback) {
    this.loop = lci.loops().get(thread);
    this.port = Port.of(FIRST_PORT + thread, "rpc-" + thread);
    this.sendCallback = sendCallback;
    loop.poll(); // from now on this thread drives the loop
    sent = lci.completions().queue(QueueOptions.builder().loop(thread).build());
    sent.completions().subscribe(this::sendCompleted, this::fail);
    lci.inbox(port, InboxOptions.builder().loop(thread).build())
        .receiveRetained()
        .subscribe(received);
  }

  /**
   * Sends a buffer, which belongs to the backend until the callback gives it back; that may be
   * before this returns.
   *
   * @return false if it cannot be sent now: the buffer is still the caller's
   */
  boolean sendMsg(int rank, long tag, LciBuffer buffer) {
    int number = lastSend + 1;
    Op op =
        Op.am(rank, port, buffer)
            .tag(tag)
            .completeTo(sent)
            .userContext(number)
            .advanced(a -> a.device(loop.index()).allowDone(true));
    PostOutcome outcome = loop.poster().tryPost(op);
    if (outcome.isRetry()) {
      return false;
    }
    lastSend = number;
    if (outcome.isDone()) {
      sentAtOnce++;
      sendCallback.accept(buffer); // the queue is not signalled
    } else {
      sending.put(number, buffer);
    }
    return true;
  }

  private void sendCompleted(Completion completion) {
    if (completion.error() != null) {
      fail(completion.error());
      return;
    }
    sentLater++;
    sendCallback.accept(Objects.requireNonNull(sending.remove(completion.userContext())));
  }

  /** Returns a message that has come, or null; the caller releases it. */
  @Nullable RetainedMessage pollMsg() {
    return received.poll();
  }

  /**
   * Makes progress.
   *
   * @return whether there was any
   */
  boolean doBackgroundWork() {
    boolean moved = loop.poll() > 0;
    if (failure != null) {
      throw new IllegalStateException("the backend failed", failure);
    }
    return moved;
  }

  /** Whether the library holds no buffer of ours. */
  boolean isQuiet() {
    return sending.isEmpty();
  }

  /** How many buffers were free as soon as they were sent. */
  long sentAtOnce() {
    return sentAtOnce;
  }

  /** How many the library kept, and gave back later. */
  long sentLater() {
    return sentLater;
  }

  /** Takes no more messages, and releases those that nobody has polled. */
  @Override
  public void close() {
    received.dispose();
    for (RetainedMessage left = received.poll(); left != null; left = received.poll()) {
      left.release();
    }
  }

  private void fail(Throwable error) {
    if (failure == null) {
      failure = error;
    }
  }

  /** Takes messages from the inbox ahead of the polls. */
  private final class Received extends BaseSubscriber<RetainedMessage> {
    private final ArrayDeque<RetainedMessage> messages = new ArrayDeque<>();

    @Override
    protected void hookOnSubscribe(Subscription subscription) {
      request(POLL_AHEAD);
    }

    @Override
    protected void hookOnNext(RetainedMessage message) {
      messages.add(message);
    }

    @Override
    protected void hookOnError(Throwable error) {
      fail(error);
    }

    @Nullable RetainedMessage poll() {
      RetainedMessage message = messages.poll();
      if (message != null) {
        request(1);
      }
      return message;
    }
  }
}
