/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.util.List;
import java.util.Map;

/**
 * Counters and gauges of a runtime at one moment. Immutable. Counters only grow; those of the core
 * keep the core's names, those of the loops start with {@code loop_}, those of streams and RPC with
 * {@code link_}, {@code stream_} and {@code exchanges_}; {@code memory_registered} is the bytes of
 * registered regions. Values of different threads are read without a lock, so a snapshot taken
 * under load is consistent per counter, not across counters.
 *
 * @since 0.1
 */
public final class LciSnapshot {
  private final Map<String, Long> counters;
  private final List<Map<String, Long>> devices;
  private final List<InboxState> inboxes;
  private final List<WaitingState> waiting;
  private final long packetsFree;
  private final long packetsCapacity;

  /**
   * State of one open inbox.
   *
   * @param port the port as {@code name(number)}
   * @param depth messages stored here and not yet delivered
   * @param capacity most messages that may be stored
   * @param retained retained messages that are not released yet
   * @param stall why messages that are stored are not delivered
   */
  public record InboxState(String port, int depth, int capacity, int retained, Stall stall) {}

  /** Why an inbox delivers nothing although messages are stored. */
  public enum Stall {
    /** It delivers, or nothing is stored. */
    NONE,
    /** Nobody is subscribed. */
    NO_SUBSCRIBER,
    /** The subscriber asks for nothing. */
    NO_DEMAND,
    /** The subscriber holds as many retained messages as it may. */
    RETAINED
  }

  /**
   * A destination for which operations of one loop wait, since it took no more.
   *
   * @param device the device of these operations
   * @param destination kind of operation, peer and port, for readers
   * @param rank the peer, or -1 if it is not bound to one
   * @param port the port as {@code name(number)}; empty unless active messages wait
   * @param reason the last answer
   * @param operations how many wait
   * @param stalled whether it has made no progress for the time of {@link
   *     LciOptions#stallWarning()}
   */
  public record WaitingState(
      int device,
      String destination,
      int rank,
      String port,
      PostOutcome reason,
      int operations,
      boolean stalled) {}

  /**
   * Creates a snapshot.
   *
   * @param counters counters by name, in a stable order
   * @param devices for each device the part of the counters that is its own
   * @param inboxes open inboxes
   * @param waiting destinations for which operations wait
   * @param packetsFree packets free
   * @param packetsCapacity packets in all
   */
  public LciSnapshot(
      Map<String, Long> counters,
      List<Map<String, Long>> devices,
      List<InboxState> inboxes,
      List<WaitingState> waiting,
      long packetsFree,
      long packetsCapacity) {
    this.counters = java.util.Collections.unmodifiableMap(new java.util.LinkedHashMap<>(counters));
    this.devices = devices.stream().map(Map::copyOf).toList();
    this.inboxes = List.copyOf(inboxes);
    this.waiting = List.copyOf(waiting);
    this.packetsFree = packetsFree;
    this.packetsCapacity = packetsCapacity;
  }

  /**
   * Value of one counter.
   *
   * @param name its name, see {@link #counters()}
   * @return the value
   * @throws IllegalArgumentException if there is no such counter
   */
  public long counter(String name) {
    Long value = counters.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no counter '" + name + "'; known: " + counters.keySet());
    }
    return value;
  }

  /** {@return how many devices the runtime has} */
  public int devices() {
    return devices.size();
  }

  /**
   * The part of a counter that one device has counted. The counts of a loop are with the first of
   * the devices that it serves. The device that does something counts it: a receive may be posted
   * on one device and matched by another. So for pending or stored items only the sum over all
   * devices is meaningful, and a part may be negative.
   *
   * @param name its name, see {@link #counters()}
   * @param device index of the device
   * @return the value; 0 for a counter that devices have no part in
   * @throws IndexOutOfBoundsException if there is no such device
   */
  public long counter(String name, int device) {
    return devices.get(device).getOrDefault(name, 0L);
  }

  /**
   * The part of a counter that belongs to no device: memory, queues, peers, parking.
   *
   * @param name its name, see {@link #counters()}
   * @return the value
   * @throws IllegalArgumentException if there is no such counter
   */
  public long counterWithoutDevice(String name) {
    return counter(name) - devices.stream().mapToLong(own -> own.getOrDefault(name, 0L)).sum();
  }

  /** {@return all counters by name, in a stable order} Unmodifiable. */
  public Map<String, Long> counters() {
    return counters;
  }

  /** {@return the open inboxes} */
  public List<InboxState> inboxes() {
    return inboxes;
  }

  /**
   * {@return the destinations for which operations wait; empty where everything is accepted at
   * once}
   */
  public List<WaitingState> waiting() {
    return waiting;
  }

  /** {@return the packets that are free now} */
  public long packetsFree() {
    return packetsFree;
  }

  /** {@return the packets that exist now; the pool grows by chunks up to its limit} */
  public long packetsCapacity() {
    return packetsCapacity;
  }
}
