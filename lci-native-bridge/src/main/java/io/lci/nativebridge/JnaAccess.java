/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import com.sun.jna.FunctionMapper;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * JNA: on every JVM. This class alone names it, and one method makes an instance ({@link
 * BindingChoice#byJna}), so that no class of JNA is loaded where {@code java.lang.foreign} does the
 * work.
 */
final class JnaAccess implements NativeAccess {

  /** RTLD_NOW | RTLD_LOCAL. */
  private static final int OPEN_FLAGS = 2;

  /** The same and RTLD_NODELETE. */
  private static final int STAY_FLAGS = OPEN_FLAGS | 0x1000;

  private static final FunctionMapper NAMES = (library, method) -> Symbols.of(method);

  /**
   * Starts JNA.
   *
   * @throws NativeLibraryException if JNA cannot copy and load its own library: in a directory that
   *     cannot be written or forbids execution
   */
  JnaAccess() {
    refuseProtectedMode();
    String temporary = System.getProperty(NativeLibrary.TEMPORARY_PROPERTY);
    if (temporary != null && System.getProperty("jna.tmpdir") == null) {
      System.setProperty("jna.tmpdir", temporary);
    }
    try {
      if (Native.POINTER_SIZE != Long.BYTES) {
        throw new NativeLibraryException(
            "this JVM is not a 64-bit JVM", List.of(), "use a 64-bit JVM", null);
      }
    } catch (LinkageError e) {
      throw notStarted(e);
    }
  }

  /** Direct mapping under JNA's protected mode ends in a crash of the JVM, not in an exception. */
  private static void refuseProtectedMode() {
    if (Boolean.getBoolean("jna.protected")) {
      throw new NativeLibraryException(
          "jna.protected=true is set, and JNA's direct mapping crashes the JVM in that mode",
          List.of(),
          "start without -Djna.protected=true",
          null);
    }
  }

  private static NativeLibraryException notStarted(LinkageError error) {
    Throwable cause = error.getCause() != null ? error.getCause() : error;
    if (cause instanceof IllegalCallerException) {
      return BindingChoice.denied(error);
    }
    return new NativeLibraryException(
        "JNA cannot load its own library: "
            + UnusableLibraryException.oneLine(String.valueOf(cause.getMessage())),
        List.of(),
        "name a directory that can be written and allows execution by -D"
            + NativeLibrary.TEMPORARY_PROPERTY
            + " or -Djna.tmpdir",
        error);
  }

  @Override
  public SharedLibrary open(Path file) throws UnusableLibraryException {
    return new Opened(file, link(file, OPEN_FLAGS));
  }

  private static com.sun.jna.NativeLibrary link(Path file, int flags)
      throws UnusableLibraryException {
    try {
      return com.sun.jna.NativeLibrary.getInstance(
          file.toString(),
          Map.of(Library.OPTION_OPEN_FLAGS, flags, Library.OPTION_FUNCTION_MAPPER, NAMES));
    } catch (UnsatisfiedLinkError e) {
      throw UnusableLibraryException.refusedByLinker(linkerReason(e), e);
    }
  }

  /**
   * JNA tries several names and keeps what the linker said to each; the first is about the file
   * itself.
   */
  private static String linkerReason(UnsatisfiedLinkError error) {
    Throwable[] tries = error.getSuppressed();
    return String.valueOf(tries.length > 0 ? tries[0].getMessage() : error.getMessage());
  }

  @Override
  public ByteBuffer buffer(long address, long size) {
    return new Pointer(address).getByteBuffer(0, size);
  }

  @Override
  public long address(ByteBuffer direct) {
    return Pointer.nativeValue(Native.getDirectBufferPointer(direct));
  }

  @Override
  public String string(long address) {
    return new Pointer(address).getString(0, StandardCharsets.UTF_8.name());
  }

  /**
   * JNA keeps no object of a library after its close: its cleaner runs a thread while there is any,
   * and that thread would keep the class loader from being collected.
   */
  private record Opened(Path file, com.sun.jna.NativeLibrary library) implements SharedLibrary {

    @Override
    public long find(String symbol) {
      try {
        return Pointer.nativeValue(library.getGlobalVariableAddress(symbol));
      } catch (UnsatisfiedLinkError e) {
        return 0;
      }
    }

    @Override
    public int layout(long out, int count) {
      return library.getFunction(Symbols.LAYOUT).invokeInt(new Object[] {out, count});
    }

    @Override
    public void stay() throws UnusableLibraryException {
      link(file, STAY_FLAGS).close();
    }

    /**
     * On a thread that ends: JNA leaves objects of its own in its thread's locals, and a thread of
     * a pool would keep their class loader from being collected.
     */
    @Override
    public NativeCalls bind() {
      try {
        CompletableFuture.runAsync(
                () -> Native.register(JnaCalls.class, library),
                task -> new Thread(task, "lci-register").start())
            .join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof Error error) {
          throw error;
        }
        throw e.getCause() instanceof RuntimeException unchecked ? unchecked : e;
      }
      return new JnaCalls();
    }

    @Override
    public void close() {
      library.close();
    }
  }
}
