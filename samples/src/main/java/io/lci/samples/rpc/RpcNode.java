/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciRuntime;
import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Calls, for one thread: it calls functions of other ranks, and answers their calls, whenever it
 * {@link #step}s. Functions are known by their place in a list that is the same on every rank. Only
 * the thread that made it may use it.
 *
 * <p>What waits here because it could not be sent is bounded by what is called: there is at most
 * one answer for each call that another thread has open.
 */
final class RpcNode implements AutoCloseable {
  /** Bit of a tag that marks an answer; below it the number of the call. */
  private static final long ANSWER = 1L << 63;

  /** In the tag of a call the function lies above the number of the call. */
  private static final int FUNCTION_SHIFT = 48;

  private static final long NUMBER_MASK = (1L << FUNCTION_SHIFT) - 1;

  private final RpcBackend backend;
  private final Buffers buffers;
  private final List<RpcFunction> functions;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private final Map<Long, Consumer<MessageView>> open = new HashMap<>();
  private long calls;
  private long served;
  private long polled;
  private long released;

  private record Waiting(int rank, long tag, LciBuffer buffer) {}

  RpcNode(LciRuntime lci, int thread, List<RpcFunction> functions) {
    this.buffers = new Buffers(lci);
    this.functions = functions;
    this.backend = new RpcBackend(lci, thread, buffers::give);
  }

  /**
   * Calls a function of another rank, or of this one.
   *
   * @param rank where
   * @param function its place in the list
   * @param bytes size of the arguments
   * @param arguments writes them, now
   * @param answer gets the result within some {@link #step}
   */
  void call(
      int rank,
      int function,
      int bytes,
      Consumer<ByteBuffer> arguments,
      Consumer<MessageView> answer) {
    long number = calls++;
    LciBuffer buffer = buffers.take(bytes);
    arguments.accept(buffer.view());
    open.put(number, answer);
    send(rank, (long) function << FUNCTION_SHIFT | number, buffer);
  }

  /** Calls that have no answer yet. */
  int open() {
    return open.size();
  }

  /**
   * Does what there is to do.
   *
   * @return whether there was anything
   */
  boolean step() {
    boolean busy = backend.doBackgroundWork();
    while (!waiting.isEmpty() && trySend(waiting.peek())) {
      waiting.remove();
      busy = true;
    }
    RetainedMessage message = backend.pollMsg();
    if (message == null) {
      return busy;
    }
    polled++;
    try {
      take(message);
    } finally {
      message.release();
      released++;
    }
    return true;
  }

  private void take(MessageView message) {
    long number = message.tag() & NUMBER_MASK;
    if ((message.tag() & ANSWER) == 0) {
      serve(message, functions.get((int) (message.tag() >>> FUNCTION_SHIFT)), number);
      return;
    }
    Consumer<MessageView> answer = open.remove(number);
    if (answer == null) {
      throw new IllegalStateException("a second answer to call " + number);
    }
    answer.accept(message);
  }

  private void serve(MessageView arguments, RpcFunction function, long number) {
    LciBuffer result = buffers.take(function.resultBytes(arguments));
    function.call(arguments, result.view());
    served++;
    send(arguments.rank(), ANSWER | number, result);
  }

  private void send(int rank, long tag, LciBuffer buffer) {
    Waiting message = new Waiting(rank, tag, buffer);
    if (!waiting.isEmpty() || !trySend(message)) {
      waiting.add(message);
    }
  }

  private boolean trySend(Waiting message) {
    return backend.sendMsg(message.rank(), message.tag(), message.buffer());
  }

  /** Whether nothing waits to be sent, and the library holds no buffer. */
  boolean isQuiet() {
    return waiting.isEmpty() && backend.isQuiet();
  }

  @Override
  public void close() {
    backend.close();
  }

  /** Returns the books; balanced once all is quiet. */
  RpcLedger ledger() {
    return new RpcLedger(
        calls,
        calls - open.size(),
        served,
        buffers.taken(),
        buffers.given(),
        backend.sentAtOnce(),
        backend.sentLater(),
        polled,
        released);
  }
}
