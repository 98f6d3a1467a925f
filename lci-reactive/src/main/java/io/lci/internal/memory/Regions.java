/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.memory;

import io.lci.error.LciException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Makes and opens the regions of memory of a runtime. Any thread. */
public final class Regions {
  private final CoreRuntime core;
  private final Outbox outbox;
  private final NativeCalls calls;

  /** The core has the address of their memory, and nothing else need refer to them. */
  private final Set<MemoryRegionImpl> registered = ConcurrentHashMap.newKeySet();

  public Regions(CoreRuntime core, Outbox outbox) {
    this.core = core;
    this.outbox = outbox;
    this.calls = core.calls;
  }

  public MemoryRegion allocate(long bytes) {
    if (bytes <= 0) {
      throw new IllegalArgumentException("a region cannot have " + bytes + " bytes");
    }
    NativeScratch out = new NativeScratch(2);
    core.gate.ask(
        "allocate " + bytes + " bytes",
        LciException.NONE,
        () -> calls.memoryAllocate(core.handle, bytes, out.address(0), out.address(1)));
    return new MemoryRegionImpl(core, this, out.getLong(0), out.getLong(1), bytes, null);
  }

  public MemoryRegion register(ByteBuffer direct) {
    if (!direct.isDirect() || direct.isReadOnly()) {
      throw new IllegalArgumentException("not a direct buffer that peers may write: " + direct);
    }
    long address = NativeMemory.address(direct);
    long bytes = direct.capacity();
    NativeScratch out = new NativeScratch(1);
    core.gate.ask(
        "register " + bytes + " bytes",
        LciException.NONE,
        () -> calls.memoryRegister(core.handle, address, bytes, out.address(0)));
    MemoryRegionImpl region =
        new MemoryRegionImpl(core, this, out.getLong(0), address, bytes, direct);
    registered.add(region);
    return region;
  }

  /** The core uses the memory of a region no more. */
  void ended(MemoryRegionImpl region) {
    registered.remove(region);
  }

  /** Nor that of any. */
  public void closed() {
    registered.clear();
  }

  /** Adds what the core does not know: how much memory of the program its peers may reach. */
  public void count(Map<String, Long> into) {
    into.put("memory_registered", registered.stream().mapToLong(MemoryRegionImpl::size).sum());
  }

  public RemoteMemory open(int rank, byte[] handle) {
    core.checkRank(rank);
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.max(1, handle.length)).put(handle);
    NativeScratch out = new NativeScratch(2);
    core.gate.ask(
        "open memory of rank " + rank,
        LciException.NONE,
        () ->
            calls.remoteOpen(
                core.handle,
                rank,
                NativeMemory.address(bytes),
                handle.length,
                out.address(0),
                out.address(1)));
    Reference.reachabilityFence(bytes);
    return new RemoteMemoryImpl(core, outbox, rank, out.getLong(0), out.getLong(1));
  }
}
