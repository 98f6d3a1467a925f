/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.LciOptions;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * The runtime of the core that a runtime of this library is over, and what all parts share: the
 * calls and who may still make them, what the core said at the start, the options, whom to tell.
 * Any thread.
 */
public final class CoreRuntime {
  /** In what belongs to the runtime, but must not keep it from the collector. */
  public final Object identity = new Object();

  public final NativeCalls calls;
  public final Layout layout;
  public final long handle;
  public final CoreGate gate;
  public final NativeMemory arena;
  public final PeerArenas peerArenas;
  public final ReplyRooms replyRooms;
  public final LciOptions options;
  public final Observer observer;
  public final Ending ending = new Ending();
  public final int rank;
  public final int size;
  public final int maxEager;

  public CoreRuntime(NativeCalls calls, Layout layout, long handle, LciOptions options) {
    this.calls = calls;
    this.layout = layout;
    this.handle = handle;
    this.options = options;
    this.rank = calls.runtimeRank(handle);
    this.size = calls.runtimeSize(handle);
    this.maxEager = calls.runtimeMaxEager(handle);
    this.gate = new CoreGate(calls, ending::closed);
    this.arena = arena(calls, handle);
    this.peerArenas = new PeerArenas(calls, handle, size);
    this.replyRooms = new ReplyRooms(calls, handle);
    this.observer = new Observer(options.instrumentation());
  }

  private static NativeMemory arena(NativeCalls calls, long handle) {
    NativeScratch out = new NativeScratch(2);
    Errors.check(
        calls,
        calls.runtimeArena(handle, out.address(0), out.address(1)),
        "map arena",
        LciException.NONE);
    return NativeMemory.wrap(out.getLong(0), out.getLong(1));
  }

  /** What deadlines and the watchdog run on. */
  public Scheduler timer() {
    Scheduler timer = options.timer();
    return timer == null ? Schedulers.parallel() : timer;
  }

  public void checkRank(int value) {
    if (value < 0 || value >= size) {
      throw new IllegalArgumentException("ranks are 0 to " + (size - 1) + ": " + value);
    }
  }

  /** The lowest rank whose death or departure the core knows, whichever the code means. */
  public int firstGone(int code) {
    int wanted = code == Codes.ERR_PEER_LEFT ? Codes.PEER_LEFT : Codes.PEER_FAILED;
    NativeScratch state = new NativeScratch(1);
    for (int peer = 0; peer < size; peer++) {
      Errors.check(
          calls,
          calls.runtimePeer(handle, peer, state.address(0)),
          "look at peer",
          LciException.NONE);
      if (state.getInt(0) == wanted) {
        return peer;
      }
    }
    return LciException.NONE;
  }
}
