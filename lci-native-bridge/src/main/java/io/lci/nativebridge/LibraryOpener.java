/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Opens a file as the library: links it, checks it, binds it. Linking is JNA's work whatever makes
 * the calls, for it tells what the linker said.
 */
final class LibraryOpener {

  /**
   * RTLD_NOW | RTLD_LOCAL: what is missing is found now, and no symbol leaks into other libraries.
   */
  private static final int OPEN_FLAGS = 2;

  /** The same and RTLD_NODELETE: the library stays where it is, whoever closes it. */
  private static final int STAY_FLAGS = OPEN_FLAGS | 0x1000;

  private static final String SAME_VERSION_FIX =
      "use the library of the same version as the lci-native-bridge jar";

  private final BindingChoice choice;

  /**
   * An opener, for as long as JNA could be started.
   *
   * @param choice what shall make the calls
   * @throws NativeLibraryException if JNA cannot copy and load its own library: in a directory that
   *     cannot be written or forbids execution
   */
  LibraryOpener(BindingChoice choice) {
    this.choice = choice;
    startJna();
  }

  private static void startJna() {
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

  private static NativeLibraryException notStarted(LinkageError error) {
    Throwable cause = error.getCause() != null ? error.getCause() : error;
    if (cause instanceof IllegalCallerException) {
      return BindingChoice.denied(error);
    }
    return new NativeLibraryException(
        "JNA cannot load its own library: " + oneLine(String.valueOf(cause.getMessage())),
        List.of(),
        "name a directory that can be written and allows execution by -D"
            + NativeLibrary.TEMPORARY_PROPERTY
            + " or -Djna.tmpdir",
        error);
  }

  /**
   * Opens a file, checks layout and symbols, and binds the functions. A library that is bound stays
   * mapped for as long as the JVM lives, and JNA keeps no object of it: its cleaner runs a thread
   * while there is any, and that thread would keep the class loader from being collected.
   */
  NativeLibrary open(Path file, String source) throws UnusableLibraryException {
    com.sun.jna.NativeLibrary library = link(file, OPEN_FLAGS);
    try {
      Layout layout = checkLayout(library, file);
      checkSymbols(library, file);
      link(file, STAY_FLAGS).close();
      return new NativeLibrary(bind(library), layout, source);
    } finally {
      library.close();
    }
  }

  private Binding bind(com.sun.jna.NativeLibrary library) {
    ToLongFunction<String> addressOf =
        symbol -> Pointer.nativeValue(library.getGlobalVariableAddress(symbol));
    return choice.bind(
        addressOf,
        () -> {
          register(library);
          return new JnaCalls();
        });
  }

  /**
   * On a thread that ends: JNA leaves objects of its own in its thread's locals, and a thread of a
   * pool would keep their class loader from being collected.
   */
  private static void register(com.sun.jna.NativeLibrary library) {
    try {
      CompletableFuture.runAsync(
              () -> Native.register(JnaSymbols.class, library),
              task -> new Thread(task, "lci-register").start())
          .join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw e.getCause() instanceof RuntimeException unchecked ? unchecked : e;
    }
  }

  private static com.sun.jna.NativeLibrary link(Path file, int flags)
      throws UnusableLibraryException {
    try {
      return com.sun.jna.NativeLibrary.getInstance(
          file.toString(), Map.of(Library.OPTION_OPEN_FLAGS, flags));
    } catch (UnsatisfiedLinkError e) {
      throw new UnusableLibraryException(
          "the linker says: " + linkerReason(e), "install or repair what the linker names", e);
    }
  }

  /**
   * JNA tries several names and keeps what the linker said to each; the first is about the file
   * itself.
   */
  private static String linkerReason(UnsatisfiedLinkError error) {
    Throwable[] tries = error.getSuppressed();
    String text = tries.length > 0 ? tries[0].getMessage() : error.getMessage();
    return oneLine(String.valueOf(text));
  }

  private static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", "; ");
  }

  private static Layout checkLayout(com.sun.jna.NativeLibrary library, Path file)
      throws UnusableLibraryException {
    int known = LayoutId.values().length;
    NativeScratch scratch = new NativeScratch(known);
    int count;
    try {
      count = library.getFunction("lci_layout").invokeInt(new Object[] {scratch.address(0), known});
    } catch (UnsatisfiedLinkError e) {
      throw new UnusableLibraryException(
          file + " is another library: it has no function lci_layout", SAME_VERSION_FIX, e);
    }
    long[] values = new long[known];
    for (int i = 0; i < known; i++) {
      values[i] = scratch.getLong(i);
    }
    try {
      return Layout.check(values, count);
    } catch (LayoutMismatchException e) {
      throw new UnusableLibraryException("layout mismatch: " + e.getMessage(), SAME_VERSION_FIX, e);
    }
  }

  /**
   * Before binding, so that a library is bound whole or not at all, and all that is missing is
   * named.
   */
  private static void checkSymbols(com.sun.jna.NativeLibrary library, Path file)
      throws UnusableLibraryException {
    List<String> missing = new ArrayList<>();
    @Nullable UnsatisfiedLinkError cause = null;
    for (Method method : JnaSymbols.class.getDeclaredMethods()) {
      if (!Modifier.isNative(method.getModifiers())) {
        continue;
      }
      try {
        library.getGlobalVariableAddress(method.getName());
      } catch (UnsatisfiedLinkError e) {
        missing.add(method.getName());
        cause = e;
      }
    }
    if (!missing.isEmpty()) {
      String[] names = missing.toArray(String[]::new);
      Arrays.sort(names);
      throw new UnusableLibraryException(
          file + " has no function " + String.join(", ", names), SAME_VERSION_FIX, cause);
    }
  }
}
