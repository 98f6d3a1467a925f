/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import java.util.Map;

/** What the sessions of a runtime counted. Written by the loop, read by snapshots without order. */
final class SessionCounters {
  long framesSent;
  long framesReceived;
  long itemsSent;
  long itemsReceived;
  long opened;
  long ended;
  long violations;

  void addTo(Map<String, Long> into) {
    into.put("link_frames_sent", framesSent);
    into.put("link_frames_received", framesReceived);
    into.put("link_violations", violations);
    into.put("stream_items_sent", itemsSent);
    into.put("stream_items_received", itemsReceived);
    into.put("exchanges_opened", opened);
    into.put("exchanges_ended", ended);
  }
}
