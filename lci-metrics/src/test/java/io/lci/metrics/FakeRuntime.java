/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.LciSnapshot.InboxState;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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
  long packetsFree = 200;
  int snapshots;

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
                    default -> throw new AssertionError("not for metrics: " + method);
                  });

  FakeRuntime() {
    counters.put("operations_am_done", 5L);
    counters.put("operations_am_posted", 3L);
    counters.put("operations_barrier_posted", 1L);
    counters.put("retries_nocredit", 7L);
    counters.put("retries_order", 2L);
    counters.put("arrivals", 11L);
    counters.put("backlog_depth", 0L);
    counters.put("backlog_push", 0L);
    counters.put("parks", 0L);
    counters.keySet().forEach(name -> second.put(name, 0L));
    rest.put("parks", 4L);
  }

  private LciSnapshot snapshot() {
    snapshots++;
    Map<String, Long> all = new LinkedHashMap<>(counters);
    second.forEach((name, value) -> all.merge(name, value, Long::sum));
    rest.forEach((name, value) -> all.merge(name, value, Long::sum));
    return new LciSnapshot(all, List.of(counters, second), inboxes, packetsFree, 256);
  }
}
