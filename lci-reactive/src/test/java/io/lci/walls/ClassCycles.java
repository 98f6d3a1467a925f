/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.walls;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/** The strongly connected components of a graph of names, by Tarjan's algorithm. */
final class ClassCycles {
  private final Map<String, Set<String>> targets;
  private final Map<String, Integer> order = new HashMap<>();
  private final Map<String, Integer> lowest = new HashMap<>();
  private final Deque<String> open = new ArrayDeque<>();
  private SortedSet<String> largest = new TreeSet<>();

  private ClassCycles(Map<String, Set<String>> targets) {
    this.targets = targets;
  }

  /** The names of the largest component; of several that are equally large, any one. */
  static SortedSet<String> largest(Map<String, Set<String>> targets) {
    ClassCycles cycles = new ClassCycles(targets);
    for (String name : targets.keySet()) {
      if (!cycles.order.containsKey(name)) {
        cycles.visit(name);
      }
    }
    return cycles.largest;
  }

  private void visit(String name) {
    int number = order.size();
    order.put(name, number);
    lowest.put(name, number);
    open.push(name);
    for (String target : targets.getOrDefault(name, Set.of())) {
      if (!order.containsKey(target)) {
        visit(target);
        lowest.merge(name, lowest.get(target), Math::min);
      } else if (open.contains(target)) {
        lowest.merge(name, order.get(target), Math::min);
      }
    }
    if (lowest.get(name) == number) {
      close(name);
    }
  }

  private void close(String first) {
    SortedSet<String> component = new TreeSet<>();
    String name;
    do {
      name = open.pop();
      component.add(name);
    } while (!name.equals(first));
    if (component.size() > largest.size()) {
      largest = component;
    }
  }
}
