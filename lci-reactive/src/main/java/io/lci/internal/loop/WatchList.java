/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** The conditions that a loop looks at in each turn. Loop only. */
final class WatchList {
  private final List<Watched> all = new ArrayList<>();

  void add(Watched watched) {
    all.add(watched);
  }

  boolean isEmpty() {
    return all.isEmpty();
  }

  /** Looks at each; returns how many are over. One that throws is over, too. */
  int look(Consumer<Throwable> thrown) {
    int before = all.size();
    if (before == 0) {
      return 0;
    }
    all.removeIf(watched -> isOver(watched, thrown));
    return before - all.size();
  }

  private static boolean isOver(Watched watched, Consumer<Throwable> thrown) {
    try {
      return watched.isOver();
    } catch (Throwable e) {
      thrown.accept(e);
      return true;
    }
  }
}
