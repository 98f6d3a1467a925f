/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import org.jspecify.annotations.Nullable;

/** Kinds of stream. The ordinal travels. */
enum StreamKind {
  SHUFFLE("shuffle"),
  GATHER("gather"),
  BROADCAST("broadcast"),
  /** Its root is the number of the operator. */
  ALL_REDUCE("allReduce");

  private static final StreamKind[] ALL = values();

  private final String title;

  StreamKind(String title) {
    this.title = title;
  }

  static @Nullable StreamKind of(int ordinal) {
    return ordinal >= 0 && ordinal < ALL.length ? ALL[ordinal] : null;
  }

  /** Whether the member has items. */
  boolean isSource(int member, int root) {
    return this != BROADCAST || member == root;
  }

  /** Whether the member gets items. */
  boolean isReceiver(int member, int root) {
    return this != GATHER || member == root;
  }

  /** For errors. */
  String operation() {
    return title + " stream of a group";
  }

  /** What a member subscribed to. */
  String call(int root) {
    return switch (this) {
      case SHUFFLE -> title;
      case ALL_REDUCE -> title + " by operator " + root;
      case GATHER, BROADCAST -> title + " with root " + root;
    };
  }
}
