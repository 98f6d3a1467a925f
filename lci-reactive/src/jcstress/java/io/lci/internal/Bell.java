/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.lane.Lane;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import io.lci.nativebridge.NativeMemory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;

/** A lane of which only the park word and the wakes are real. */
final class Bell {
  private static final Layout LAYOUT = NativeLibrary.load().layout();
  private static final int PARK_OFFSET = 64;

  final AtomicInteger wakes = new AtomicInteger();
  final Lane lane;
  private final ByteBuffer memory =
      ByteBuffer.allocateDirect(2 * PARK_OFFSET).order(ByteOrder.LITTLE_ENDIAN);

  Bell() {
    NativeCalls calls =
        (NativeCalls)
            Proxy.newProxyInstance(
                Bell.class.getClassLoader(),
                new Class<?>[] {NativeCalls.class},
                (proxy, method, arguments) ->
                    switch (method.getName()) {
                      case "laneMemory", "laneDoorbell" -> region(arguments[1], arguments[2]);
                      case "laneParkOffset" -> (long) PARK_OFFSET;
                      case "laneSummaryOffset" -> 0L;
                      case "laneWake" -> {
                        wakes.incrementAndGet();
                        yield null;
                      }
                      default -> 0;
                    });
    lane = Lane.open(calls, LAYOUT, 1, 0, 1, 1, 1);
  }

  private int region(Object base, Object length) {
    NativeMemory.wrap((long) base, Long.BYTES).buffer().putLong(0, NativeMemory.address(memory));
    NativeMemory.wrap((long) length, Long.BYTES).buffer().putLong(0, memory.capacity());
    return 0;
  }
}
