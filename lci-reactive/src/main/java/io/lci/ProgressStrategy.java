/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.time.Duration;
import java.util.Objects;

/**
 * Decides whether a loop also progresses the devices of the other loops of its runtime. A loop that
 * is held up by user code (a handler that computes for long, a decoder that blocks) serves no
 * device meanwhile: peers wait for its credit, their gets and long messages stand still, and
 * messages that come over its devices reach no inbox, even if that inbox lives on another loop. A
 * loop that helps takes a pass of at most 32 messages over such devices.
 *
 * <p>A pass moves what needs no code of the held loop: arrivals for inboxes of other loops, queues,
 * counters and native handlers; credit and packets; long messages; gets of peers. Messages for
 * inboxes of the held loop, and the ends of its operations, wait until its turn is over: their
 * signals come on its thread alone. No pass is taken over a lane whose loop is inside the core or
 * asleep, and a loop that comes back waits for the pass that is under way.
 *
 * <p>Immutable.
 *
 * @see LciOptions.Builder#progress(ProgressStrategy)
 * @since 0.1
 */
public final class ProgressStrategy {
  /** Which loops are helped. */
  public enum Kind {
    /** None. */
    LOCAL,
    /** Those that are in one turn for too long. */
    HELP,
    /** One that is chosen at random, now and then. */
    RANDOM,
    /** All, now and then. */
    GLOBAL
  }

  /** Default of {@link #after()}. */
  public static final Duration DEFAULT_AFTER = Duration.ofMillis(1);

  /** Default of {@link #everyTurns()}. */
  public static final int DEFAULT_EVERY_TURNS = 64;

  private static final ProgressStrategy LOCAL =
      new ProgressStrategy(Kind.LOCAL, DEFAULT_AFTER, DEFAULT_EVERY_TURNS);

  private final Kind kind;
  private final Duration after;
  private final int everyTurns;

  private ProgressStrategy(Kind kind, Duration after, int everyTurns) {
    this.kind = kind;
    this.after = after;
    this.everyTurns = everyTurns;
  }

  /** {@return the default: a loop progresses its own devices alone} */
  public static ProgressStrategy local() {
    return LOCAL;
  }

  /** {@return {@link #help(Duration)} after {@link #DEFAULT_AFTER}} */
  public static ProgressStrategy help() {
    return help(DEFAULT_AFTER);
  }

  /**
   * Helps a loop that is in one turn for a time, until that turn ends. A loop with nothing to do
   * sleeps at most 5 ms, so that it sees in time which others need it. An invoker loop is helped as
   * soon as nobody has driven it for that time. Needs two loops.
   *
   * @param after time in one turn, at least 1 microsecond
   * @return the strategy
   */
  public static ProgressStrategy help(Duration after) {
    if (Objects.requireNonNull(after, "after").compareTo(Duration.ofNanos(1000)) < 0) {
      throw new IllegalArgumentException(
          "a loop is helped after 1 microsecond or more in one turn: " + after);
    }
    return new ProgressStrategy(Kind.HELP, after, DEFAULT_EVERY_TURNS);
  }

  /**
   * Helps one other loop, chosen at random, whether it is held up or not: a pass costs its owner
   * some of its cache each time. With one loop, as {@link #local()}.
   *
   * @param everyTurns turns of a loop between two passes, at least 1; after 5 ms one is due, too
   * @return the strategy
   */
  public static ProgressStrategy random(int everyTurns) {
    return new ProgressStrategy(Kind.RANDOM, DEFAULT_AFTER, atLeastOne(everyTurns));
  }

  /**
   * Helps all other loops, as {@link #random} does one.
   *
   * @param everyTurns turns of a loop between two rounds, at least 1; after 5 ms one is due, too
   * @return the strategy
   */
  public static ProgressStrategy global(int everyTurns) {
    return new ProgressStrategy(Kind.GLOBAL, DEFAULT_AFTER, atLeastOne(everyTurns));
  }

  private static int atLeastOne(int everyTurns) {
    if (everyTurns < 1) {
      throw new IllegalArgumentException("everyTurns must be 1 or more: " + everyTurns);
    }
    return everyTurns;
  }

  /** {@return which loops are helped} */
  public Kind kind() {
    return kind;
  }

  /** {@return the time in one turn after which {@link Kind#HELP} helps} */
  public Duration after() {
    return after;
  }

  /** {@return the turns between two rounds of {@link Kind#RANDOM} and {@link Kind#GLOBAL}} */
  public int everyTurns() {
    return everyTurns;
  }

  /** {@return the strategy as text, as property {@code lci.progress} takes it} */
  @Override
  public String toString() {
    return switch (kind) {
      case LOCAL -> "local";
      case HELP -> "help:" + after.toNanos() / 1000;
      case RANDOM -> "random:" + everyTurns;
      case GLOBAL -> "global:" + everyTurns;
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ProgressStrategy that
        && kind == that.kind
        && after.equals(that.after)
        && everyTurns == that.everyTurns;
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, after, everyTurns);
  }
}
