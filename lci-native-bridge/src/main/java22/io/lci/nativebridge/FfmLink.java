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
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Makes the handles of {@link FfmCalls}. A handle is a constant of its class, for only then the
 * compiler makes of a call little more than a jump; so a class loader links one library, once.
 *
 * <p>The types are those of {@link NativeCalls}, which a test compares with the header. No handle
 * is {@code Linker.Option.critical}: a critical call holds up safepoints for as long as it runs,
 * and an enter may take a whole batch.
 */
final class FfmLink {

  private static final Map<String, Method> METHODS =
      Arrays.stream(NativeCalls.class.getDeclaredMethods())
          .collect(Collectors.toUnmodifiableMap(Method::getName, Function.identity()));

  private static @Nullable Linker linker;
  private static @Nullable ToLongFunction<String> addresses;
  private static boolean linked;

  private FfmLink() {}

  /**
   * Links every function.
   *
   * @param chosen the linker of this JVM, whose permission to be used is known
   * @param addressOf where the library has a function
   */
  static synchronized NativeCalls bind(Linker chosen, ToLongFunction<String> addressOf) {
    if (linked) {
      throw new IllegalStateException("a library is linked already, and for good");
    }
    linker = chosen;
    addresses = addressOf;
    NativeCalls calls = new FfmCalls();
    linked = true;
    return calls;
  }

  /** For the constants of {@link FfmCalls}, whose initialization {@link #bind} starts. */
  @SuppressWarnings("restricted") // the permission is the user's: --enable-native-access
  static synchronized MethodHandle handle(String name) {
    Method method = METHODS.get(name);
    Linker chosen = linker;
    ToLongFunction<String> known = addresses;
    if (method == null || chosen == null || known == null) {
      throw new IllegalStateException(name + " is no method of NativeCalls, or nothing is bound");
    }
    long address = known.applyAsLong(Symbols.of(method));
    return chosen.downcallHandle(MemorySegment.ofAddress(address), type(method));
  }

  private static FunctionDescriptor type(Method method) {
    MemoryLayout[] parameters =
        Arrays.stream(method.getParameterTypes()).map(FfmLink::layout).toArray(MemoryLayout[]::new);
    return method.getReturnType() == void.class
        ? FunctionDescriptor.ofVoid(parameters)
        : FunctionDescriptor.of(layout(method.getReturnType()), parameters);
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

  /** The throwable of a handle of primitives, which can be an error of the JVM only. */
  static RuntimeException thrown(Throwable throwable) {
    if (throwable instanceof Error error) {
      throw error;
    }
    return throwable instanceof RuntimeException runtime
        ? runtime
        : new IllegalStateException("a call of the native library threw", throwable);
  }
}
