/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.internal.Operations.How;
import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/**
 * Whatever the core answers and whenever it signals, an operation is accepted once and ends once.
 * As many operations as property {@code lci.test.operations} says: the soak has a million.
 */
@Timeout(1200) // only ends what hangs
class ExactlyOnceTest {
  private static final int COUNT = Integer.getInteger("lci.test.operations", 20_000);
  private static final int UNDER_WAY = 500;
  private static final int[] ANSWERS = {
    Codes.DONE,
    Codes.DONE,
    Codes.POSTED,
    Codes.POSTED,
    Codes.RETRY_NOCREDIT,
    Codes.RETRY_NOMEM,
    Codes.RETRY_NOPACKET,
    Codes.RETRY_LOCK,
    Codes.RETRY_BACKLOG,
    Codes.RETRY_PENDING
  };

  private final Operations operations = new Operations();
  private final Random random = new Random(11);
  private final Set<Integer> refused = new HashSet<>();
  private int batch = -1;

  private final byte[] accepted = new byte[COUNT];
  private final byte[] elements = new byte[COUNT];
  private final byte[] terminals = new byte[COUNT];
  private int acceptedInAll;
  private int begun;
  private int ended;

  @AfterEach
  void close() {
    operations.close();
  }

  // Proves: U4
  // On: inproc
  @ParameterizedTest
  @EnumSource(How.class)
  void underRandomAnswers(How how) {
    operations.core.script = this::answer;
    operations.turns(1);
    if (how == How.BULK) {
      begun = COUNT;
      operations
          .runtime
          .post(Flux.range(0, COUNT), this::op, PostOptions.builder().window(UNDER_WAY).build())
          .subscribe(
              result -> {
                assertThat(result.error()).isNull();
                elements[result.item()]++;
                terminals[result.item()]++;
                ended++;
              });
    }
    while (ended < COUNT) {
      while (begun < COUNT && begun - ended < UNDER_WAY) {
        operations.runtime.post(op(begun)).subscribe(new Once(begun++));
      }
      signalSome();
      operations.core.generation++;
      operations.core.writable(Operations.PEER, Operations.PORT.number(), 1 + random.nextInt(8));
      operations.turns(1);
    }
    operations.turns(3);
    for (int number = 0; number < COUNT; number++) {
      assertThat(elements[number]).as("elements of %d", number).isEqualTo((byte) 1);
      assertThat(terminals[number]).as("ends of %d", number).isEqualTo((byte) 1);
      int expected = isNumbered(number) ? 1 : 0;
      assertThat(accepted[number]).as("accepted %d", number).isEqualTo((byte) expected);
    }
    assertThat(acceptedInAll).isEqualTo(COUNT);
    assertThat(operations.parked()).isZero();
    assertThat(operations.inSlots()).isZero();
  }

  private Op op(int number) {
    Kind[] kinds = Kind.values();
    return operations.op(kinds[number % kinds.length], number);
  }

  /** Whether the core sees its number. */
  private static boolean isNumbered(int number) {
    return number % Kind.values().length <= Kind.SIGNALLING_PUT.ordinal();
  }

  /** As the core does: after a refusal the rest of the destination waits. */
  private int answer(ScriptedCore.Submitted submitted) {
    if (batch != operations.core.batches.size()) {
      operations.core.batches.clear(); // they would fill the heap
      batch = 0;
      refused.clear();
    }
    int key = destination(submitted);
    if (refused.contains(key)) {
      return Codes.RETRY_ORDER;
    }
    int code = ANSWERS[random.nextInt(ANSWERS.length)];
    if (code == Codes.DONE && (key == Codes.OP_RECV || key == Codes.OP_BARRIER)) {
      code = Codes.POSTED; // they answer by record
    }
    boolean grantable = code == Codes.RETRY_NOCREDIT || code == Codes.RETRY_BACKLOG;
    if (grantable && key != Codes.OP_AM) {
      code = Codes.RETRY_NOMEM; // this core tells of room at ports only
    }
    if (Codes.isRetry(code)) {
      refused.add(key);
    } else {
      acceptedInAll++;
      int op = submitted.op();
      if (op == Codes.OP_AM || op == Codes.OP_SEND || op == Codes.OP_PUT) {
        accepted[(int) submitted.first()]++;
      }
    }
    return operations.remembered(submitted, code);
  }

  /**
   * Puts, gets and atomic operations wait for each other, but with a signal for room at its port.
   */
  private static int destination(ScriptedCore.Submitted submitted) {
    if (submitted.op() == Codes.OP_ATOMIC) {
      return Codes.OP_GET;
    }
    if (submitted.op() != Codes.OP_PUT) {
      return submitted.op();
    }
    return submitted.port() == Operations.PORT.number() ? Codes.OP_AM : Codes.OP_GET;
  }

  private void signalSome() {
    List<Long> now = new ArrayList<>();
    for (Iterator<Map.Entry<Long, Integer>> i = operations.posted.entrySet().iterator();
        i.hasNext() && now.size() < 100; ) {
      long context = i.next().getKey();
      if (random.nextInt(3) > 0) {
        now.add(context);
        i.remove();
      }
    }
    now.forEach(context -> operations.core.ended(context, Codes.DONE, Operations.PEER));
  }

  private final class Once extends BaseSubscriber<Object> {
    private final int number;

    Once(int number) {
      this.number = number;
    }

    @Override
    protected void hookOnNext(Object value) {
      elements[number]++;
    }

    @Override
    protected void hookOnComplete() {
      terminals[number]++;
      ended++;
    }

    @Override
    protected void hookOnError(Throwable error) {
      throw new AssertionError(error);
    }
  }
}
