/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.LciSnapshot.InboxState;
import io.lci.LciSnapshot.WaitingState;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Sinks;

/**
 * A runtime with two devices of which only the snapshot and the description work; anything else
 * fails the test.
 */
final class FakeRuntime {

  /** Of the first device. */
  final Map<String, Long> counters = new LinkedHashMap<>();

  /** Of the second one. */
  final Map<String, Long> second = new LinkedHashMap<>();

  /** Of none. */
  final Map<String, Long> rest = new LinkedHashMap<>();

  final List<InboxState> inboxes = new ArrayList<>();
  final List<WaitingState> waiting = new ArrayList<>();
  final Sinks.Empty<Void> closed = Sinks.empty();
  long packetsFree = 200;
  int snapshots;

  private final List<LciLoop> loops = List.of(loop(0), loop(1));

  final LciRuntime runtime =
      (LciRuntime)
          Proxy.newProxyInstance(
              FakeRuntime.class.getClassLoader(),
              new Class<?>[] {LciRuntime.class},
              (self, method, arguments) ->
                  switch (method.getName()) {
                    case "rank" -> 2;
                    case "size" -> 4;
                    case "options" -> LciOptions.defaults();
                    case "snapshot" -> snapshot();
                    case "loops" -> loops();
                    case "onClose" -> closed.asMono();
                    default -> throw new AssertionError("not for metrics: " + method);
                  });

  FakeRuntime() {
    for (String name :
        List.of(
            "operations_barrier_posted",
            "operations_error",
            "operations_recv_posted",
            "sent_bytes",
            "arrival_bytes",
            "rma_copied",
            "rma_streamed",
            "loop_parked",
            "loop_in_slots",
            "loop_late_data",
            "loop_given_up",
            "loop_nanos_busy",
            "loop_nanos_polling",
            "loop_nanos_parked",
            "loop_enters",
            "loop_stalls",
            "loop_helped",
            "loop_parks",
            "loop_uncaught",
            "backlog_depth",
            "backlog_push",
            "parks")) {
      counters.put(name, 0L);
    }
    counters.put("operations_am_done", 5L);
    counters.put("operations_am_posted", 3L);
    counters.put("loop_retry_nocredit_am", 7L);
    counters.put("loop_retry_order_send", 2L);
    counters.put("arrivals", 11L);
    counters.keySet().forEach(name -> second.put(name, 0L));
    rest.put("parks", 4L);
    for (String name :
        List.of(
            "discarded",
            "signals_dropped",
            "unexpected_stored",
            "stream_items_sent",
            "stream_items_received")) {
      rest.put(name, 0L);
    }
  }

  private List<LciLoop> loops() {
    return loops;
  }

  /** A loop that serves the device of the same index. */
  private static LciLoop loop(int index) {
    return (LciLoop)
        Proxy.newProxyInstance(
            FakeRuntime.class.getClassLoader(),
            new Class<?>[] {LciLoop.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "index" -> index;
                  case "devices" -> List.of(index);
                  default -> throw new AssertionError("not for metrics: " + method);
                });
  }

  private LciSnapshot snapshot() {
    snapshots++;
    Map<String, Long> all = new LinkedHashMap<>(counters);
    second.forEach((name, value) -> all.merge(name, value, Long::sum));
    rest.forEach((name, value) -> all.merge(name, value, Long::sum));
    return new LciSnapshot(all, List.of(counters, second), inboxes, waiting, packetsFree, 256);
  }
}
