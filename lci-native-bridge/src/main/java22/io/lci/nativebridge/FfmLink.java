/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Makes the handles of {@link FfmCalls}. A handle is a constant of its class, for only then the
 * compiler makes of a call little more than a jump; so a class loader links one library, once.
 *
 * <p>The types are those of {@link NativeCalls}, which a test compares with the header.
 */
final class FfmLink {

  /** What every library has; its type is as good as any other's to find out whether it works. */
  private static final String PROBE = "lci_layout";

  private static final Map<String, FunctionDescriptor> TYPES = types();

  private static @Nullable Linker linker;
  private static @Nullable ToLongFunction<String> addresses;
  private static boolean linked;

  private FfmLink() {}

  /**
   * Links every function. {@link BindingChoice} calls it by its name.
   *
   * @param addressOf where the library has a function
   * @throws NativeLibraryException if this JVM has no linker for the platform
   * @throws IllegalCallerException if this JVM denies native access
   */
  static synchronized NativeCalls bind(ToLongFunction<String> addressOf) {
    if (linked) {
      throw new IllegalStateException("a library is linked already, and for good");
    }
    try {
      linker = Linker.nativeLinker();
    } catch (UnsupportedOperationException e) { // from elsewhere it would be a fault
      throw BindingChoice.noLinker(e);
    }
    addresses = addressOf;
    handle(PROBE); // fails here if at all: a class whose constants failed cannot be tried again
    NativeCalls calls = new FfmCalls();
    linked = true;
    return calls;
  }

  /** For the constants of {@link FfmCalls}, whose initialization {@link #bind} starts. */
  @SuppressWarnings("restricted") // the permission is the user's: --enable-native-access
  static synchronized MethodHandle handle(String symbol) {
    FunctionDescriptor type = TYPES.get(symbol);
    Linker chosen = linker;
    ToLongFunction<String> known = addresses;
    if (type == null || chosen == null || known == null) {
      throw new IllegalStateException(symbol + " is no method of NativeCalls, or nothing is bound");
    }
    return chosen.downcallHandle(MemorySegment.ofAddress(known.applyAsLong(symbol)), type);
  }

  private static Map<String, FunctionDescriptor> types() {
    Map<String, FunctionDescriptor> types = new HashMap<>();
    for (Method method : NativeCalls.class.getDeclaredMethods()) {
      String symbol =
          "lci_" + method.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
      MemoryLayout[] parameters =
          Arrays.stream(method.getParameterTypes())
              .map(FfmLink::layout)
              .toArray(MemoryLayout[]::new);
      types.put(
          symbol,
          method.getReturnType() == void.class
              ? FunctionDescriptor.ofVoid(parameters)
              : FunctionDescriptor.of(layout(method.getReturnType()), parameters));
    }
    return types;
  }

  /** Addresses and sizes cross as 64-bit integers: in the same registers as in C. */
  private static MemoryLayout layout(Class<?> type) {
    if (type == int.class) {
      return ValueLayout.JAVA_INT;
    }
    if (type == long.class) {
      return ValueLayout.JAVA_LONG;
    }
    throw new IllegalStateException("NativeCalls has a parameter of " + type);
  }

  /** What a handle of primitives can throw: nothing but errors of the JVM. */
  static RuntimeException thrown(Throwable throwable) {
    if (throwable instanceof Error error) {
      throw error;
    }
    return throwable instanceof RuntimeException runtime
        ? runtime
        : new IllegalStateException("a call of the native library threw", throwable);
  }
}
