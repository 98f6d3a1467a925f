/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.tck.Row.Kind;
import io.lci.tck.Rules.Skip;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/**
 * The TCK of Reactive Streams for every publisher and for what the bulk operators are to their
 * upstream, over ranks in one process, and the same under chaos. The result is
 * docs/internals/tck.md: {@code -Dtck.write=true} writes it, else it must be what was run.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Timeout(600) // only ends what hangs
class TckTest {
  private static final String INPROC = "inproc";
  private static final long LIMIT_MILLIS = 120_000;

  /** Plans for the core; each case and its seed are printed. */
  private static final List<String> SETTINGS = List.of(INPROC, chaos(5), chaos(6), chaos(7));

  /** In so many worlds of a setting its cases take turns. */
  private static final int WORLDS = 2;

  private final Map<String, TckWorld> worlds = new ConcurrentHashMap<>();
  private final Map<String, FutureTask<Rules>> runs = new LinkedHashMap<>();
  private final List<Thread> threads = new ArrayList<>();
  private final TckPage page = new TckPage();

  private static String chaos(int seed) {
    return "seed=%d,delay=0.2,ticks=12,refuse=0.1,short=0.2".formatted(seed);
  }

  /** The column of the page. */
  private static String column(String setting) {
    return setting.equals(INPROC) ? INPROC : "chaos";
  }

  /**
   * What is run.
   *
   * @param setting over what
   * @param row the publisher
   * @param taken whether it is bounded by {@code take(n)}
   * @param raw whether its class is the library's own
   */
  record Case(String setting, Row row, boolean taken, boolean raw) {
    @Override
    public String toString() {
      return setting + ": " + row + (taken ? ".take(n)" : "");
    }

    Set<Skip> skips() {
      Set<Skip> skips = EnumSet.noneOf(Skip.class);
      Kind kind = row.kind();
      if (kind.unicast) {
        skips.add(Skip.UNICAST);
      }
      if (!taken && kind.isEndless()) {
        skips.add(Skip.ENDLESS);
      }
      if (kind.max <= 1 || kind == Kind.REPLAY) {
        skips.add(Skip.SHORT);
      }
      if (row.failed() == null) {
        skips.add(Skip.NO_FAILURE);
      }
      return skips;
    }
  }

  /**
   * Begins with everything, in the order of the tests, which wait for it: on a thread for each
   * world, for most of it is waiting for silence.
   */
  @BeforeAll
  void begin() {
    for (String setting : SETTINGS) {
      Turns turns = new Turns(setting);
      publishers()
          .filter(run -> run.setting.equals(setting))
          .forEach(run -> turns.add(run.toString(), world -> publish(world, run)));
      SubscriberRules.operators()
          .forEach(
              operator -> turns.add(name(setting, operator), world -> subscribe(world, operator)));
      turns.begin();
    }
  }

  /** What is done in a world. */
  private interface Work {
    Rules in(TckWorld world) throws ReflectiveOperationException;
  }

  /** The cases of a setting. */
  private final class Turns {
    private final String setting;
    private final List<List<FutureTask<Rules>>> mine = new ArrayList<>();
    private int count;

    Turns(String setting) {
      this.setting = setting;
      for (int number = 0; number < WORLDS; number++) {
        mine.add(new ArrayList<>());
      }
    }

    void add(String name, Work work) {
      int number = count++ % WORLDS;
      FutureTask<Rules> run = new FutureTask<>(() -> work.in(world(setting, number)));
      assertThat(runs.put(name, run)).as(name).isNull();
      mine.get(number).add(run);
    }

    void begin() {
      for (List<FutureTask<Rules>> all : mine) {
        Thread thread = new Thread(() -> all.forEach(FutureTask::run), "tck " + setting);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
      }
    }
  }

  private static String name(String setting, SubscriberRules.Operator operator) {
    return setting + ": subscriber " + operator.name();
  }

  private Rules resultOf(String name) throws InterruptedException {
    try {
      return runs.get(name).get();
    } catch (ExecutionException e) {
      throw new AssertionError(name, e.getCause());
    }
  }

  static Stream<Case> publishers() {
    List<Case> cases = new ArrayList<>();
    for (String setting : SETTINGS) {
      for (Row row : Rows.raw()) {
        if (row.kind() != Kind.REPLAY) { // its rules ask for more than there is
          cases.add(new Case(setting, row, false, true));
        }
        if (row.kind().isEndless()) {
          cases.add(new Case(setting, row, true, true));
        }
      }
      for (Row row : Rows.composed()) {
        cases.add(new Case(setting, row, false, false));
      }
    }
    return cases.stream();
  }

  // Proves: U5
  // On: inproc, chaos
  @ParameterizedTest(name = "{0}")
  @MethodSource("publishers")
  @Order(1)
  void publisherFollowsTheRules(Case run) throws InterruptedException {
    Rules rules = resultOf(run.toString());
    assertThat(rules.faults).isEmpty(); // first: the page takes none, and would not say which
    page.add(
        run.raw ? "Publishers" : "Publishers made of operators",
        run.row.name() + (run.taken ? ".take(n)" : ""),
        column(run.setting),
        rules);
  }

  private Rules publish(TckWorld world, Case run) throws ReflectiveOperationException {
    long max =
        !run.taken
            ? run.row.kind().max
            : run.row.kind() == Kind.REPLAY ? world.peers() : Integer.MAX_VALUE;
    Rules rules = new Rules();
    rules.run(
        new PublisherRules(
            world,
            run.row,
            max,
            run.raw,
            elements -> publisher -> run.taken ? take(publisher, elements) : publisher));
    world.clean();
    rules.allow(run.skips());
    return rules;
  }

  private static Publisher<?> take(Publisher<?> publisher, long elements) {
    return Flux.from(publisher).take(elements);
  }

  static Stream<Arguments> subscribers() {
    return SETTINGS.stream()
        .flatMap(
            setting ->
                SubscriberRules.operators().stream()
                    .map(operator -> Arguments.of(setting, operator)));
  }

  @ParameterizedTest(name = "{0}: {1}")
  @MethodSource("subscribers")
  @Order(2)
  void operatorFollowsTheRulesAsSubscriber(String setting, SubscriberRules.Operator operator)
      throws InterruptedException {
    Rules rules = resultOf(name(setting, operator));
    assertThat(rules.faults).isEmpty();
    page.add("Subscribers", operator.name(), column(setting), rules);
  }

  private Rules subscribe(TckWorld world, SubscriberRules.Operator operator)
      throws ReflectiveOperationException {
    Rules rules = new Rules();
    SubscriberRules verification = new SubscriberRules(world, operator);
    verification.startPublisherExecutorService();
    rules.run(verification);
    verification.shutdownPublisherExecutorService();
    rules.allow(Set.of());
    return rules;
  }

  @Test
  @Order(3)
  void nothingIsLeftBehind() {
    List<String> faults = new ArrayList<>();
    worlds.values().forEach(world -> faults.addAll(world.faults()));
    assertThat(faults).isEmpty();
  }

  @Test
  @Order(4)
  void thePageSaysWhatWasRun() throws IOException {
    page.print(System.out);
    page.writeOrCheck();
  }

  private TckWorld world(String setting, int number) {
    return worlds.computeIfAbsent(
        setting + " " + number, name -> new TckWorld(setting.equals(INPROC) ? "" : setting));
  }

  @AfterAll
  void close() throws InterruptedException {
    for (Thread thread : threads) {
      thread.join(LIMIT_MILLIS); // they have ended, unless a test was left out
    }
    worlds.values().forEach(TckWorld::close);
  }
}
