/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * What others said of streams that have not begun here, up to a number of frames of each rank. Loop
 * only.
 */
final class EarlyFrames {
  /** Most frames of one rank. */
  static final int MOST = 1 << 14;

  private final Map<Key, List<InFrame>> frames = new HashMap<>();

  /** How many of each rank wait. */
  private final int[] waiting;

  private record Key(long context, long number) {}

  EarlyFrames(int ranks) {
    waiting = new int[ranks];
  }

  /**
   * Keeps a frame, if it is one that may come before its stream begins here: the others answer what
   * this rank said.
   *
   * @throws IllegalStateException if that rank has too many
   */
  void add(InFrame frame) {
    switch (frame.type()) {
      case OPEN, DETACH, ABORT -> keep(frame);
      case ITEMS, END, CREDIT -> {}
    }
  }

  private void keep(InFrame frame) {
    if (waiting[frame.rank()] == MOST) {
      throw new IllegalStateException(
          "it is ahead by " + MOST + " frames of streams that have not begun here");
    }
    waiting[frame.rank()]++;
    frames
        .computeIfAbsent(new Key(frame.context(), frame.number()), key -> new ArrayList<>())
        .add(frame);
  }

  /** Those of a stream, in the order in which they came; they are kept no longer. */
  List<InFrame> take(long context, long number) {
    List<InFrame> found = frames.remove(new Key(context, number));
    if (found == null) {
      return List.of();
    }
    left(found);
    return found;
  }

  /** The context is gone. */
  void forget(long context) {
    Iterator<Map.Entry<Key, List<InFrame>>> all = frames.entrySet().iterator();
    while (all.hasNext()) {
      Map.Entry<Key, List<InFrame>> one = all.next();
      if (one.getKey().context() == context) {
        left(one.getValue());
        all.remove();
      }
    }
  }

  private void left(List<InFrame> all) {
    all.forEach(frame -> waiting[frame.rank()]--);
  }

  /** How many wait. */
  int size() {
    int size = 0;
    for (int of : waiting) {
      size += of;
    }
    return size;
  }
}
