/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.LciRuntime;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** One thread of the sample: calls random ranks, checks the answers, and serves meanwhile. */
final class EchoThread implements AutoCloseable {
  /** Inline, inline over several slots, in a packet, longer than a packet. */
  private static final int[] COUNTS = {1, 12, 125, 5_000};

  private static final int SPINS = 100;
  private static final long PAUSE_NANOS = 50_000;

  private final LciRuntime lci;
  private final Failure failure;
  private final RpcNode node;
  private final SplittableRandom random;
  private final int calls;
  private final int window;
  private int made;
  private int idle;

  /** To be made on the thread that uses it. */
  EchoThread(LciRuntime lci, int thread, EchoPlan plan, Failure failure) {
    this.lci = lci;
    this.failure = failure;
    this.calls = plan.calls();
    this.window = plan.window();
    this.node = new RpcNode(lci, thread, EchoFunctions.ALL);
    this.random = new SplittableRandom(((plan.seed() + lci.rank()) << Short.SIZE) | thread);
  }

  /**
   * Makes all calls, and serves until every thread of every rank has all its answers, and again
   * until the library has given back every buffer.
   */
  RpcLedger run(Phase answered, Phase quiet) {
    while (made < calls || node.open() > 0) {
      while (made < calls && node.open() < window) {
        callSomeone();
      }
      step();
    }
    answered.arrive();
    stepUntil(answered::isOver);
    stepUntil(node::isQuiet);
    quiet.arrive();
    stepUntil(quiet::isOver);
    return node.ledger();
  }

  @Override
  public void close() {
    node.close();
  }

  private void callSomeone() {
    made++;
    int rank = random.nextInt(lci.size());
    EchoFunctions function = random.nextBoolean() ? EchoFunctions.ECHO : EchoFunctions.SUM;
    int count = COUNTS[random.nextInt(COUNTS.length)];
    long first = random.nextLong();
    node.call(
        rank,
        function.ordinal(),
        count * Long.BYTES,
        out -> EchoFunctions.write(out, first, count),
        answer -> {
          if (!function.isRight(answer, first, count)) {
            throw new IllegalStateException(
                "a wrong answer of %d bytes from rank %d to %s of %d numbers"
                    .formatted(answer.size(), answer.rank(), function, count));
          }
        });
  }

  private void stepUntil(BooleanSupplier end) {
    while (!end.getAsBoolean()) {
      step();
    }
  }

  private void step() {
    failure.check();
    if (node.step()) {
      idle = 0;
    } else if (++idle < SPINS) {
      Thread.onSpinWait();
    } else {
      LockSupport.parkNanos(PAUSE_NANOS); // the processor may have better things to do
    }
  }
}
