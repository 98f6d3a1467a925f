/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import org.jspecify.annotations.Nullable;

/** Types of frame, with the flags that each may have. The code travels. */
enum FrameType {
  /** Begins an exchange; may bring its first item. */
  OPEN(1, InFrame.OPENER | InFrame.ITEM | InFrame.LAST),
  /** An item, or a part of one. */
  DATA(2, InFrame.OPENER | InFrame.LAST | InFrame.CONTINUED),
  /** No more items. */
  COMPLETE(3, InFrame.OPENER),
  /** The end of both directions. */
  ERROR(4, InFrame.OPENER | InFrame.USER),
  /** No more items are wanted. */
  CANCEL(5, InFrame.OPENER),
  /** More items are wanted, or there is room for the announced one. */
  CREDIT(6, InFrame.OPENER | InFrame.GRANT),
  /** What was received, for its own sake. Not numbered. */
  ACK(7, 0),
  /** The end of the session. Not numbered. */
  FAREWELL(8, 0);

  private static final FrameType[] ALL = values();

  final int code;
  final int flags;

  FrameType(int code, int flags) {
    this.code = code;
    this.flags = flags;
  }

  boolean isNumbered() {
    return this != ACK && this != FAREWELL;
  }

  static @Nullable FrameType of(int code) {
    return code >= 1 && code <= ALL.length ? ALL[code - 1] : null;
  }
}
