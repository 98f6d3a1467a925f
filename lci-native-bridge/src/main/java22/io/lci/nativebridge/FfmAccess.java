/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * {@code java.lang.foreign}. Libraries are opened by {@code dlopen} itself, for {@code
 * SymbolLookup.libraryLookup} does not tell what the linker said.
 */
@SuppressWarnings("restricted") // the permission is the user's: --enable-native-access
final class FfmAccess implements NativeAccess {

  /** RTLD_NOW | RTLD_LOCAL. */
  private static final int OPEN_FLAGS = 2;

  /** The same and RTLD_NODELETE. */
  private static final int STAY_FLAGS = OPEN_FLAGS | 0x1000;

  /** The JDK refuses the last 8 sizes of a buffer, which JNA makes. */
  private static final long LONGEST_BUFFER = Integer.MAX_VALUE - 8;

  /** In which {@link Path} reads and writes the names of files. */
  private static final Charset FILE_NAMES =
      Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));

  private final Linker linker;
  private final MethodHandle dlopen;
  private final MethodHandle dlsym;
  private final MethodHandle dlerror;
  private final MethodHandle dlclose;

  /**
   * {@link BindingChoice} calls it by its name.
   *
   * @throws NativeLibraryException if this JVM has no linker for the platform
   * @throws IllegalCallerException if this JVM denies native access
   */
  FfmAccess() {
    try {
      linker = Linker.nativeLinker();
    } catch (UnsupportedOperationException e) { // from elsewhere it would be a fault
      throw BindingChoice.noLinker(e);
    }
    dlopen = function("dlopen", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT));
    dlsym = function("dlsym", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    dlerror = function("dlerror", FunctionDescriptor.of(JAVA_LONG));
    dlclose = function("dlclose", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
  }

  private MethodHandle function(String name, FunctionDescriptor type) {
    MemorySegment address =
        linker
            .defaultLookup()
            .find(name)
            .orElseThrow(
                () -> BindingChoice.noLinker(new UnsupportedOperationException("no " + name)));
    return linker.downcallHandle(address, type);
  }

  @Override
  public SharedLibrary open(Path file) throws UnusableLibraryException {
    return new Opened(file, link(file, OPEN_FLAGS));
  }

  private long link(Path file, int flags) throws UnusableLibraryException {
    lastError(); // Forgets an older one; and the call after dlopen, being linked, does nothing
    // else.
    long library;
    try (Arena arena = Arena.ofConfined()) {
      long name = cString(arena, file.toString(), FILE_NAMES);
      library = (long) dlopen.invokeExact(name, flags);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
    if (library == 0) {
      throw UnusableLibraryException.refusedByLinker(lastError(), null);
    }
    return library;
  }

  private String lastError() {
    try {
      long text = (long) dlerror.invokeExact();
      return text == 0 ? "" : string(text);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  private static long cString(Arena arena, String text, Charset charset) {
    byte[] bytes = text.getBytes(charset);
    return arena.allocateFrom(JAVA_BYTE, Arrays.copyOf(bytes, bytes.length + 1)).address();
  }

  @Override
  public ByteBuffer buffer(long address, long size) {
    if (size > LONGEST_BUFFER) {
      return BindingChoice.byJna().buffer(address, size);
    }
    return MemorySegment.ofAddress(address).reinterpret(size).asByteBuffer();
  }

  @Override
  public long address(ByteBuffer direct) {
    return MemorySegment.ofBuffer(direct).address() - direct.position();
  }

  @Override
  public String string(long address) {
    return MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
  }

  private final class Opened implements SharedLibrary {

    private final Path file;
    private final long handle;

    Opened(Path file, long handle) {
      this.file = file;
      this.handle = handle;
    }

    @Override
    public long find(String symbol) {
      try (Arena arena = Arena.ofConfined()) {
        long name = cString(arena, symbol, FILE_NAMES);
        return (long) dlsym.invokeExact(handle, name);
      } catch (Throwable e) {
        throw FfmLink.thrown(e);
      }
    }

    @Override
    public int layout(long out, int count) {
      FunctionDescriptor type = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT);
      MemorySegment address = MemorySegment.ofAddress(find(Symbols.LAYOUT));
      try {
        return (int) linker.downcallHandle(address, type).invokeExact(out, count);
      } catch (Throwable e) {
        throw FfmLink.thrown(e);
      }
    }

    @Override
    public void stay() throws UnusableLibraryException {
      close(link(file, STAY_FLAGS));
    }

    @Override
    public NativeCalls bind() {
      return FfmLink.bind(linker, this::find);
    }

    @Override
    public void close() {
      close(handle);
    }

    private void close(long library) {
      try {
        int unused = (int) dlclose.invokeExact(library); // Nobody can do anything about a failure.
      } catch (Throwable e) {
        throw FfmLink.thrown(e);
      }
    }
  }
}
