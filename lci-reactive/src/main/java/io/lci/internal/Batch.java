/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is in the submission array of a lane: one element per descriptor, until its outcome is read.
 * Loop only.
 *
 * <p>Under the JVM's default collector a reference to a young object that is written into an old
 * one costs a fence, a good part of what a short message costs at all (docs/performance.md). So the arrays of references
 * are made for each batch, and owner and destination are written once for a run of elements that
 * share them.
 */
final class Batch {
  private static final int LEAST = 4;
  private static final Submitter[] NO_OWNERS = {};
  private static final Destination[] NO_DESTINATIONS = {};
  private static final Object[] NO_ITEMS = {};

  // One element per run
  private @Nullable Submitter[] owners = NO_OWNERS;
  private @Nullable Destination[] destinations = NO_DESTINATIONS;
  private int runs;

  // One element per descriptor
  private @Nullable Object[] items = NO_ITEMS;
  private final int[] runOf;
  private final int[] entries;
  private final int[] nodes;
  private final int[] slots;
  private final int[] packets;
  private int size;

  Batch(int capacity) {
    runOf = new int[capacity];
    entries = new int[capacity];
    nodes = new int[capacity];
    slots = new int[capacity];
    packets = new int[capacity];
  }

  int size() {
    return size;
  }

  /**
   * Appends an element.
   *
   * @return its index
   */
  int add(
      Submitter owner,
      Object item,
      Destination destination,
      int entry,
      int node,
      int slot,
      int packet) {
    int index = size++;
    if (index == items.length) {
      items = index == 0 ? new Object[LEAST] : Arrays.copyOf(items, 2 * index);
    }
    items[index] = item;
    runOf[index] = run(owner, destination);
    entries[index] = entry;
    nodes[index] = node;
    slots[index] = slot;
    packets[index] = packet;
    return index;
  }

  private int run(Submitter owner, Destination destination) {
    int last = runs - 1;
    if (last >= 0 && owners[last] == owner && destinations[last] == destination) {
      return last;
    }
    if (runs == owners.length) {
      owners = runs == 0 ? new Submitter[LEAST] : Arrays.copyOf(owners, 2 * runs);
      destinations = runs == 0 ? new Destination[LEAST] : Arrays.copyOf(destinations, 2 * runs);
    }
    owners[runs] = owner;
    destinations[runs] = destination;
    return runs++;
  }

  Submitter owner(int index) {
    return Objects.requireNonNull(owners[runOf[index]]);
  }

  Destination destination(int index) {
    return Objects.requireNonNull(destinations[runOf[index]]);
  }

  int runs() {
    return runs;
  }

  Destination destinationOfRun(int run) {
    return Objects.requireNonNull(destinations[run]);
  }

  Object item(int index) {
    return Objects.requireNonNull(items[index]);
  }

  /** Where in the array its descriptor begins. */
  int entry(int index) {
    return entries[index];
  }

  /** Its place in {@link ParkedTable}, if it waited. */
  int node(int index) {
    return nodes[index];
  }

  int slot(int index) {
    return slots[index];
  }

  int packet(int index) {
    return packets[index];
  }

  /** Every outcome was read: the elements are let go. */
  void clear() {
    size = 0;
    runs = 0;
    items = NO_ITEMS;
    owners = NO_OWNERS;
    destinations = NO_DESTINATIONS;
  }
}
