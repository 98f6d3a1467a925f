/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciSnapshot;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Adds up what the core and the loops counted; after the end, what they had counted. */
public final class Snapshots {
  private final RuntimeImpl runtime;
  private final List<String> counterNames;
  private volatile @Nullable LciSnapshot last;

  Snapshots(RuntimeImpl runtime) {
    this.runtime = runtime;
    int count = runtime.core.calls.runtimeSnapshot(runtime.core.handle, 0, 0);
    List<String> names = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      names.add(NativeMemory.string(runtime.core.calls.counterName(i)));
    }
    this.counterNames = names;
  }

  /** Any thread. */
  LciSnapshot take() {
    return runtime.core.gate.get(
        () -> {
          LciSnapshot final_ = last;
          return final_ != null ? final_ : read();
        });
  }

  /** The core is about to close: this one stays. */
  void takeLast() {
    last = read();
  }

  private LciSnapshot read() {
    Map<String, Long> all = counters((int) Codes.NO_DEVICE);
    List<Map<String, Long>> devices = new ArrayList<>();
    List<LciSnapshot.WaitingState> waiting = new ArrayList<>();
    int devicesNow = runtime.loops.all.devices();
    for (int device = 0; device < devicesNow; device++) {
      Map<String, Long> own = counters(device);
      EventLoop loop = runtime.loops.all.of(device);
      if (device == loop.firstDevice()) {
        runtime.loops.outboxes.of(device).addWaiting(waiting);
        loop.count(own);
      }
      own.forEach((name, value) -> all.merge(name, value, Long::sum));
      devices.add(own);
    }
    runtime.sessions.count(all);
    runtime.regions.count(all);
    return new LciSnapshot(
        all,
        devices,
        runtime.inboxes.states(),
        waiting,
        all.getOrDefault("packets_free", 0L),
        all.getOrDefault("packets_capacity", 0L));
  }

  private Map<String, Long> counters(int device) {
    int count = counterNames.size();
    NativeScratch values = new NativeScratch(Math.max(1, count));
    runtime.core.calls.runtimeSnapshotPart(runtime.core.handle, device, values.address(0), count);
    Map<String, Long> named = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      named.put(counterNames.get(i), values.getLong(i));
    }
    return named;
  }
}
