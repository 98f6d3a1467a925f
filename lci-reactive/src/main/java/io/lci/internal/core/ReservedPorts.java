/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.am.Port;

/** Ports that the library uses itself: programs cannot name them. */
public final class ReservedPorts {
  /** Frames of streams and RPC. */
  public static final Port SESSIONS = Port.of(Port.MAX_NUMBER + 2, "lci.channel");

  /** Frames of streams of groups. */
  public static final Port GROUPS = Port.of(Port.MAX_NUMBER + 1, "lci.group");

  private ReservedPorts() {}

  /** Whether the library itself opens the port. */
  public static boolean has(Port port) {
    return port.number() > Port.MAX_NUMBER;
  }
}
