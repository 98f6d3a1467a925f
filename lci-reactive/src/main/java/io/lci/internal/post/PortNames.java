/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.PortMismatchException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.NativeMemory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What the senders and operations of this rank call the ports of others. Any thread. */
final class PortNames {
  /** No code of the core. */
  private static final long NOT_ASKED = Long.MIN_VALUE;

  private final CoreRuntime core;
  private final Map<Integer, String> named = new ConcurrentHashMap<>();

  /** The same for a look that allocates nothing: ports whose names the core knows. */
  private final Set<Port> namedPorts = ConcurrentHashMap.newKeySet();

  /**
   * One of them, mostly that of the last operation. Racy: another one costs a look into the set.
   */
  private @Nullable Port lastNamed;

  PortNames(CoreRuntime core) {
    this.core = core;
  }

  /** Tells the core what this rank calls a port, once; its owner compares. */
  void tell(Port port) {
    if (port == lastNamed) {
      return;
    }
    if (namedPorts.contains(port)) {
      lastNamed = port;
      return;
    }
    ByteBuffer name = NativeMemory.cString(port.name());
    long address = NativeMemory.address(name);
    long code =
        core.gate.with(() -> core.calls.portName(core.handle, port.number(), address), NOT_ASKED);
    Reference.reachabilityFence(name);
    if (code == NOT_ASKED) {
      return; // closed: what was to be posted says so
    }
    try {
      Errors.check(core.calls, (int) code, "name port " + port, LciException.NONE);
    } catch (PortMismatchException e) {
      throw withName(e, named.get(port.number()));
    }
    named.putIfAbsent(port.number(), port.name());
    namedPorts.add(port);
  }

  /** The core knows a hash of the name alone. */
  private static PortMismatchException withName(PortMismatchException e, @Nullable String known) {
    return known == null
        ? e
        : new PortMismatchException(
            Detail.of(e.operation(), e.code(), e.hint() + "; it is \"" + known + '"'));
  }
}
