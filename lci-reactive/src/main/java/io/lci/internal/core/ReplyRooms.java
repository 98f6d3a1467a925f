/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeScratch;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The ports of a runtime that have room for replies; they keep it while the runtime lives. */
public final class ReplyRooms {
  private record Room(int id, int replies, int bytes) {}

  private final NativeCalls calls;
  private final long runtime;
  private final Map<Port, Room> rooms = new ConcurrentHashMap<>();

  ReplyRooms(NativeCalls calls, long runtime) {
    this.calls = calls;
    this.runtime = runtime;
  }

  /** Sets room aside, once for each port. */
  public synchronized void open(Port port, int replies, int bytes) {
    Room known = rooms.get(port);
    if (known == null) {
      NativeScratch id = new NativeScratch(1);
      Errors.check(
          calls,
          calls.portReplyRoom(runtime, port.number(), replies, bytes, id.address(0)),
          "room for replies at port " + port,
          LciException.NONE);
      rooms.put(port, new Room((int) id.getLong(0) & 0xFF, replies, bytes));
    } else if (known.replies != replies || known.bytes != bytes) {
      throw new IllegalArgumentException(
          "port "
              + port
              + " has room for "
              + known.replies
              + " replies of "
              + known.bytes
              + " bytes, and keeps it");
    }
  }

  /** What requests name it by. */
  public int id(Port port) {
    Room room = rooms.get(port);
    if (room == null) {
      throw new IllegalStateException(
          "port " + port + " has no room for replies; see InboxOptions.Builder.replyRoom");
    }
    return room.id;
  }
}
