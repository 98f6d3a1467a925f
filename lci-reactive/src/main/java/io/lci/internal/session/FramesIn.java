/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The frames of a session that come, handed on in the order of their numbers, whatever order they
 * come in. Loop only.
 */
final class FramesIn {
  /** Acknowledged for its own sake at so many. */
  private static final int ACK_AT = Session.WINDOW / 4;

  private final Session session;
  private long received;
  private long told;
  private final @Nullable InFrame[] early = new InFrame[Session.WINDOW];

  FramesIn(Session session) {
    this.session = session;
  }

  /** One frame with a number. */
  void numbered(InFrame frame) throws BadFrame {
    if (frame.number <= received || frame.number > received + Session.WINDOW) {
      throw new BadFrame("frame " + frame.number + " after " + received + " in order");
    }
    int place = (int) (frame.number % Session.WINDOW);
    if (early[place] != null) {
      throw new BadFrame("frame " + frame.number + " twice");
    }
    early[place] = frame;
    while (!session.hasFailed()) {
      int next = (int) ((received + 1) % Session.WINDOW);
      InFrame due = early[next];
      if (due == null) {
        return;
      }
      early[next] = null;
      received++;
      session.owner().counters().framesReceived++;
      session.take(due);
    }
  }

  /** Frames that were handed on. */
  long received() {
    return received;
  }

  /** Whether a frame is worth it that only acknowledges. */
  boolean isAcknowledgementDue() {
    return received - told >= ACK_AT;
  }

  /** A frame leaves that acknowledges all. */
  void acknowledge() {
    told = received;
  }

  void clear() {
    Arrays.fill(early, null);
  }
}
