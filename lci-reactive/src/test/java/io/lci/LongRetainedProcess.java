/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A program that reads a long message while it is released, or while its runtime closes. */
final class LongRetainedProcess {
  private static final Port PORT = Port.of(38, "long and lent");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int ROUNDS = 20;

  /** So long that the memory is unmapped when it is freed. */
  private static final int SIZE = 32 << 20;

  private static final byte[] SENT = new byte[SIZE];

  private LongRetainedProcess() {}

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < SIZE; i++) {
      SENT[i] = (byte) (i * 31);
    }
    if (args[0].equals("release")) {
      readWhileReleased();
    } else {
      readWhileClosed();
    }
    System.out.println("alive");
    System.out.flush();
  }

  private static RetainedMessage hold(LciRuntime lci, Inbox inbox) {
    return inbox
        .receiveRetained()
        .next()
        .zipWith(lci.sender(PORT).send(0, Payload.of(SENT)).thenReturn(1))
        .block(LIMIT)
        .getT1();
  }

  private static Inbox inbox(LciRuntime lci) {
    return lci.inbox(PORT, InboxOptions.builder().bytes(1L << 30).build());
  }

  private static void readWhileReleased() throws Exception {
    try (LciRuntime lci = LciRuntime.create()) {
      Inbox inbox = inbox(lci);
      for (int round = 0; round < ROUNDS; round++) {
        RetainedMessage message = hold(lci, inbox);
        Reader reader = new Reader(message);
        reader.awaitFirst();
        message.release();
        reader.join();
        reader.check("this message was released");
      }
    }
  }

  private static void readWhileClosed() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      LciRuntime lci = LciRuntime.create();
      Reader reader;
      RetainedMessage message;
      try {
        message = hold(lci, inbox(lci));
        reader = new Reader(message);
        reader.awaitFirst();
      } finally {
        lci.close();
      }
      byte[] after = message.toByteArray();
      message.release();
      reader.join();
      reader.check("this message was released");
      if (!Arrays.equals(after, SENT)) {
        throw new AssertionError("other bytes after the close");
      }
    }
  }

  /** Reads until it must not any more. */
  private static final class Reader extends Thread {
    private final RetainedMessage message;
    private final byte[] bytes = new byte[SIZE];
    private final CountDownLatch first = new CountDownLatch(1);
    private final AtomicReference<Throwable> end = new AtomicReference<>();

    Reader(RetainedMessage message) {
      this.message = message;
      start();
    }

    @Override
    public void run() {
      try {
        while (true) {
          message.getBytes(0, bytes, 0, SIZE);
          if (!Arrays.equals(bytes, SENT)) {
            throw new AssertionError("other bytes");
          }
          first.countDown();
        }
      } catch (Throwable e) {
        end.set(e);
        first.countDown();
      }
    }

    void awaitFirst() throws InterruptedException {
      if (!first.await(60, TimeUnit.SECONDS)) {
        throw new AssertionError("it could not be read");
      }
    }

    void check(String expected) {
      Throwable thrown = end.get();
      if (!(thrown instanceof IllegalStateException) || !thrown.getMessage().equals(expected)) {
        throw new AssertionError(thrown);
      }
    }
  }
}
