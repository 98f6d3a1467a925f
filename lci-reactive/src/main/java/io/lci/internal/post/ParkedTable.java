/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The refused operations of a loop: nodes in arrays, linked per destination in both directions, so
 * that parking, unparking and cancelling cost the same whatever the number that waits, and allocate
 * nothing. Loop only. [V4]
 */
final class ParkedTable {
  static final int NONE = -1;
  private static final int FIRST_CAPACITY = 1024;

  private final int limit;
  private @Nullable Submitter[] owners = new Submitter[FIRST_CAPACITY];
  private @Nullable Object[] items = new Object[FIRST_CAPACITY];
  private int[] next = new int[FIRST_CAPACITY];
  private int[] previous = new int[FIRST_CAPACITY];

  /** How many fences had begun when each came. */
  private int[] fences = new int[FIRST_CAPACITY];

  private int begun;
  private int freeHead = NONE;
  private int used;
  private int size;

  ParkedTable(int limit) {
    this.limit = limit;
  }

  int size() {
    return size;
  }

  boolean isFull() {
    return size >= limit;
  }

  int next(int node) {
    return next[node];
  }

  Submitter owner(int node) {
    return java.util.Objects.requireNonNull(owners[node]);
  }

  Object item(int node) {
    return java.util.Objects.requireNonNull(items[node]);
  }

  /** Begins a fence: what comes from now on is behind it. Returns its number. */
  int beginFence() {
    return ++begun;
  }

  /** Whether something of the destination came before a fence. The first one is the oldest. */
  boolean holdsFence(Destination destination, int fence) {
    return destination.head != NONE && fences[destination.head] - fence < 0;
  }

  /** Appends to the destination's queue. */
  int append(Destination destination, Submitter owner, Object item) {
    int node = allocate();
    owners[node] = owner;
    items[node] = item;
    fences[node] = begun;
    next[node] = NONE;
    previous[node] = destination.tail;
    if (destination.tail == NONE) {
      destination.head = node;
    } else {
      next[destination.tail] = node;
    }
    destination.tail = node;
    if (destination.count == 0) {
      destination.soleOwner = owner;
    } else if (destination.soleOwner != owner) {
      destination.soleOwner = null;
    }
    destination.count++;
    size++;
    return node;
  }

  void remove(Destination destination, int node) {
    int before = previous[node];
    int after = next[node];
    if (before == NONE) {
      destination.head = after;
    } else {
      next[before] = after;
    }
    if (after == NONE) {
      destination.tail = before;
    } else {
      previous[after] = before;
    }
    destination.count--;
    if (destination.count == 0) {
      destination.soleOwner = null;
    }
    size--;
    owners[node] = null;
    items[node] = null;
    next[node] = freeHead;
    freeHead = node;
  }

  private int allocate() {
    if (freeHead != NONE) {
      int node = freeHead;
      freeHead = next[node];
      return node;
    }
    if (used == owners.length) {
      int most = size < limit ? limit : size + FIRST_CAPACITY; // some wait beyond the limit
      int capacity = (int) Math.min((long) most, used * 2L);
      owners = Arrays.copyOf(owners, capacity);
      items = Arrays.copyOf(items, capacity);
      next = Arrays.copyOf(next, capacity);
      previous = Arrays.copyOf(previous, capacity);
      fences = Arrays.copyOf(fences, capacity);
    }
    return used++;
  }
}
