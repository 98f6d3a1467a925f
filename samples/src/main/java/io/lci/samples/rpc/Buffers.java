/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciRuntime;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/**
 * Buffers of one thread, for messages to be sent, with books: who still has one? A buffer that is
 * given back is overwritten, so that it shows when somebody still needs it.
 */
final class Buffers {
  private static final byte POISON = (byte) 0xA5;

  private final LciRuntime lci;
  private final Map<Integer, Deque<LciBuffer>> free = new HashMap<>();
  private long taken;
  private long given;

  Buffers(LciRuntime lci) {
    this.lci = lci;
  }

  LciBuffer take(int bytes) {
    taken++;
    LciBuffer buffer = ofSize(bytes).poll();
    return buffer != null ? buffer : lci.memory().buffer(bytes);
  }

  void give(LciBuffer buffer) {
    given++;
    ByteBuffer view = buffer.view();
    while (view.hasRemaining()) {
      view.put(POISON);
    }
    ofSize(buffer.size()).add(buffer);
  }

  private Deque<LciBuffer> ofSize(int bytes) {
    return free.computeIfAbsent(bytes, size -> new ArrayDeque<>());
  }

  /** How many were taken so far. */
  long taken() {
    return taken;
  }

  /** How many came back. */
  long given() {
    return given;
  }
}
