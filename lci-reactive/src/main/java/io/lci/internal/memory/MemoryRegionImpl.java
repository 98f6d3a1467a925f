/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.memory;

import io.lci.error.LciException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.MemoryRegion;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A native region: allocated by the core, or a direct buffer of the user, which it keeps reachable
 * as the runtime does it until the region ends.
 */
public final class MemoryRegionImpl implements MemoryRegion {
  private final CoreRuntime core;
  private final Regions regions;
  private final long region;
  private final long size;
  private final @Nullable NativeMemory allocated; // by the core; null if registered
  private final @Nullable ByteBuffer registered; // ours, of the program's memory; null if allocated
  private final byte[] handle;
  private volatile boolean disposed; // written under this

  public MemoryRegionImpl(
      CoreRuntime core,
      Regions regions,
      long region,
      long address,
      long size,
      @Nullable ByteBuffer registered) {
    this.core = core;
    this.regions = regions;
    this.region = region;
    this.size = size;
    this.allocated = registered == null ? NativeMemory.wrap(address, size) : null;
    this.registered = registered == null ? null : registered.duplicate().clear();
    this.handle = readHandle();
  }

  public CoreRuntime core() {
    return core;
  }

  private byte[] readHandle() {
    NativeCalls calls = core.calls;
    ByteBuffer out = ByteBuffer.allocateDirect(Codes.MEMORY_HANDLE_SIZE);
    core.gate.ask(
        "read the handle of a region",
        LciException.NONE,
        () -> calls.memoryHandle(region, NativeMemory.address(out), Codes.MEMORY_HANDLE_SIZE));
    byte[] bytes = new byte[Codes.MEMORY_HANDLE_SIZE];
    out.get(bytes);
    return bytes;
  }

  @Override
  public byte[] handle() {
    return handle.clone();
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public ByteBuffer view(long offset, int length) {
    if (isDisposed()) {
      throw new IllegalStateException("the region was disposed");
    }
    if (allocated != null) {
      return allocated.slice(offset, length);
    }
    // It keeps the memory, whatever becomes of the region
    ByteBuffer whole = Objects.requireNonNull(registered);
    Objects.checkFromIndexSize(offset, length, size);
    return whole.slice((int) offset, length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Whoever disposes at the same time waits for what the core says of it. */
  @Override
  public synchronized void dispose() {
    if (disposed) {
      return;
    }
    disposed = true; // before: no view of memory that has gone
    NativeCalls calls = core.calls;
    int code =
        (int)
            core.gate.with(
                () ->
                    registered == null ? calls.memoryFree(region) : calls.memoryDeregister(region),
                Codes.DONE);
    if (code != Codes.DONE) {
      disposed = false;
      Errors.check(calls, code, "end a region of memory", LciException.NONE);
    }
    regions.ended(this);
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  @Override
  public Mono<Void> disposeLater() {
    return Mono.fromRunnable(this::dispose);
  }

  @Override
  public String toString() {
    return "MemoryRegion[" + size + " bytes of rank " + core.rank + ']';
  }
}
