/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.MemoryRegion;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A native region: allocated by the core, or a direct buffer of the user that it keeps reachable.
 */
final class MemoryRegionImpl implements MemoryRegion {
  private final RuntimeImpl runtime;
  private final long region;
  private final long size;
  private final @Nullable NativeMemory memory; // null if it has no bytes
  private final @Nullable ByteBuffer registered; // kept reachable; null if the core allocated it
  private final byte[] handle;
  private final AtomicBoolean disposed = new AtomicBoolean();

  MemoryRegionImpl(
      RuntimeImpl runtime, long region, long address, long size, @Nullable ByteBuffer registered) {
    this.runtime = runtime;
    this.region = region;
    this.size = size;
    this.memory = size == 0 ? null : NativeMemory.wrap(address, size);
    this.registered = registered;
    this.handle = readHandle();
  }

  private byte[] readHandle() {
    NativeCalls calls = runtime.calls;
    ByteBuffer out = ByteBuffer.allocateDirect(Codes.MEMORY_HANDLE_SIZE);
    runtime.core.ask(
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
    if (memory == null) {
      java.util.Objects.checkFromIndexSize(offset, length, 0L);
      return ByteBuffer.allocateDirect(0);
    }
    return memory.slice(offset, length);
  }

  @Override
  public void dispose() {
    if (disposed.getAndSet(true)) {
      return;
    }
    NativeCalls calls = runtime.calls;
    int code =
        (int)
            runtime.core.with(
                () ->
                    registered == null ? calls.memoryFree(region) : calls.memoryDeregister(region),
                Codes.DONE);
    if (code != Codes.DONE) {
      disposed.set(false);
      Errors.check(calls, code, "end a region of memory", LciException.NONE);
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed.get();
  }

  @Override
  public Mono<Void> disposeLater() {
    return Mono.fromRunnable(this::dispose);
  }

  @Override
  public String toString() {
    return "MemoryRegion[" + size + " bytes of rank " + runtime.rank() + ']';
  }
}
