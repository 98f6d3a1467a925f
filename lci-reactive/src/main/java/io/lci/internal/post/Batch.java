/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is in the submission array of a lane: one element per descriptor, until its outcome is read.
 * Loop only.
 *
 * <p>Owner and destination are written once for a run of elements that share them: under the JVM's
 * default collector a reference that is written into an old object costs a fence, a good part of
 * what a short message costs at all.
 */
final class Batch {
  // One element per run
  private final @Nullable Submitter[] owners;
  private final @Nullable Destination[] destinations;
  private int runs;

  // One element per descriptor
  private final @Nullable Object[] items;
  private final int[] runOf;
  private final int[] entries;
  private final int[] nodes;
  private final int[] slots;
  private final int[] packets;
  private int size;

  Batch(int capacity) {
    owners = new Submitter[capacity];
    destinations = new Destination[capacity];
    items = new Object[capacity];
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
    Arrays.fill(items, 0, size, null);
    Arrays.fill(owners, 0, runs, null);
    Arrays.fill(destinations, 0, runs, null);
    size = 0;
    runs = 0;
  }
}
