/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.boundary;

import java.util.Locale;

/**
 * Streams messages of eight bytes from rank 0 to rank 1 in batches of 32 over lanes driven from
 * Java: what {@code am_bench am_stream} does in C. Prints one line of JSON.
 */
public final class LaneBench {
  private static final int PORT = 1;
  private static final int BACK = 2;
  private static final int BATCH = 32;
  private static final long MESSAGES = 4_000_000;
  private static final int ROUNDS = 5;
  private static final int WARM_UP = 3;

  private LaneBench() {}

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric, for the printed line
   */
  public static void main(String[] arguments) {
    try (RawLane lane = new RawLane()) {
      boolean first = lane.rank() == 0;
      lane.open(first ? BACK : PORT);
      long nanos = 0;
      for (int round = 1; round <= ROUNDS; round++) {
        long start = System.nanoTime();
        if (first) {
          send(lane, 1, PORT, MESSAGES, round);
          receive(lane, 1, round);
        } else {
          receive(lane, MESSAGES, MESSAGES * round);
          send(lane, 0, BACK, 1, round);
        }
        nanos += round > WARM_UP ? System.nanoTime() - start : 0;
      }
      if (first) {
        System.out.printf(
            Locale.ROOT,
            "{\"metric\":\"%s\",\"unit\":\"Mmsg/s\",\"value\":%.6g}%n",
            arguments[0],
            (ROUNDS - WARM_UP) * MESSAGES * 1e3 / nanos);
      }
    }
  }

  private static void send(RawLane lane, int rank, int port, long count, long value) {
    long sent = 0;
    while (sent < count) {
      int batch = (int) Math.min(BATCH, count - sent);
      for (int i = 0; i < batch; i++) {
        lane.message(i, rank, port, value);
      }
      lane.enter(batch);
      for (int i = 0; i < batch; i++) {
        sent += lane.taken(i) ? 1 : 0;
      }
    }
  }

  private static void receive(RawLane lane, long count, long expectedSum) {
    long[] sum = new long[1];
    long received = 0;
    while (received < count) {
      lane.enter(0);
      int moved = lane.received(sum);
      received += moved;
      if (moved == 0) {
        Thread.onSpinWait();
      }
    }
    if (sum[0] != expectedSum) {
      throw new IllegalStateException("payloads add up to " + sum[0] + ", not " + expectedSum);
    }
  }
}
