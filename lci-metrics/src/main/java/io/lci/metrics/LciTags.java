/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.common.docs.KeyName;

/**
 * The tag keys of the {@link LciMeter}s, each with its values. None is {@code job} or {@code
 * instance}, which Prometheus itself sets.
 *
 * @since 0.1
 */
public enum LciTags implements KeyName {
  /** Kind of operation. */
  OP("op", "kind of operation: am, send, receive, put, get, atomic, barrier"),
  /** A call of a group. */
  CALL("call", "call of a group, by the method's name: barrier, broadcast, allReduce, ..."),
  /** The way in which members do it. */
  ALGORITHM(
      "algorithm",
      "the algorithm that the program named, or else that the core chose, such as arena_slots; auto: agree, which"
          + " has none"),
  /** How an attempt ended. */
  OUTCOME("outcome", "done (finished at once) or posted (a completion followed)"),
  /** Why there was no progress. */
  REASON("reason", "which retry: lock, nopacket, nomem, backlog, nocredit, pending, order"),
  /** Index of the device. */
  DEVICE(
      "device",
      "index of the device, with the first one of a loop also what that counts; none: counted by no"
          + " device"),
  /** Index of the loop. */
  LOOP("loop", "index of the loop"),
  /** The activity of a loop. */
  PHASE("phase", "busy (turns that found work), polling (turns that found none), parked (asleep)"),
  /** A port. */
  PORT("port", "the port as name(number)"),
  /** Why. */
  CAUSE("cause", "why; the meter says which there are"),
  /** A peer's rank. */
  PEER("peer", "all; with MetricsOptions.withPeerRanks(n) the rank if below n, or other"),
  /** State of a peer. */
  STATE("state", "alive, left (announced), failed (died)"),
  /** Where bytes or items went. */
  DIRECTION(
      "direction",
      "sent or received by message; of bytes also remote: put or got by this rank without one"),
  /** Name of a counter of the snapshot. */
  COUNTER("counter", "name of the counter in LciSnapshot"),
  /** This rank. */
  RANK("rank", "this rank"),
  /** Ranks in the job. */
  SIZE("size", "ranks in the job"),
  /** Version of the library. */
  VERSION("version", "version of lci-reactive"),
  /** The way that messages take. */
  TRANSPORT("transport", "the way that messages take between the ranks");

  private final String key;
  private final String description;

  LciTags(String key, String description) {
    this.key = key;
    this.description = description;
  }

  @Override
  public String asString() {
    return key;
  }

  /** {@return a description of its values, in one line} */
  public String description() {
    return description;
  }
}
