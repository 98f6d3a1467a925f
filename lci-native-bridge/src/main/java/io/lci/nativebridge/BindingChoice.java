/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Chooses what opens the library and makes the calls: {@code java.lang.foreign} where it can be
 * had, at a twentieth of the price per call, else JNA; or what {@link NativeLibrary#CALLS_PROPERTY}
 * says.
 *
 * @param name {@link Binding#JNA} or {@link Binding#FFM}
 * @param required whether another one will not do
 * @param reason why it is this one
 */
record BindingChoice(String name, boolean required, String reason) {

  /** The first release with {@code java.lang.foreign} for everybody. */
  static final int FIRST_RELEASE = 22;

  /** Its classes are compiled for that release, so they are known by name only. */
  private static final String FOREIGN = "io.lci.nativebridge.FfmAccess";

  private static final String AUTO = "auto";

  /** The choice for this JVM. */
  static BindingChoice ofThisJvm() {
    return of(
        System.getProperty(NativeLibrary.CALLS_PROPERTY),
        Runtime.version().feature(),
        hasClasses());
  }

  /**
   * The choice.
   *
   * @param wanted value of {@link NativeLibrary#CALLS_PROPERTY}, or null
   * @param release of the JVM
   * @param hasClasses whether this jar has the classes for {@code java.lang.foreign}
   * @throws NativeLibraryException if what is wanted cannot be had
   */
  static BindingChoice of(@Nullable String wanted, int release, boolean hasClasses) {
    String obstacle = obstacle(release, hasClasses);
    String set = NativeLibrary.CALLS_PROPERTY + "=" + wanted;
    return switch (wanted == null ? AUTO : wanted) {
      case AUTO ->
          obstacle == null
              ? new BindingChoice(Binding.FFM, false, "this JVM is of release " + release)
              : new BindingChoice(Binding.JNA, false, obstacle);
      case Binding.JNA -> new BindingChoice(Binding.JNA, true, set);
      case Binding.FFM -> {
        if (obstacle != null) {
          throw refused(set + ", and " + obstacle);
        }
        yield new BindingChoice(Binding.FFM, true, set);
      }
      default -> throw refused(set + " is none of auto, jna and ffm");
    };
  }

  private static @Nullable String obstacle(int release, boolean hasClasses) {
    if (release < FIRST_RELEASE) {
      return "this JVM is of release " + release + ", java.lang.foreign needs " + FIRST_RELEASE;
    }
    return hasClasses
        ? null
        : "the classes for java.lang.foreign are not there: this jar was built without a JDK of "
            + FIRST_RELEASE
            + " or newer, or repacked without Multi-Release: true";
  }

  private static NativeLibraryException refused(String reason) {
    return new NativeLibraryException(
        reason,
        List.of(),
        "start without -D"
            + NativeLibrary.CALLS_PROPERTY
            + ", so that the best there is gets chosen",
        null);
  }

  private static boolean hasClasses() {
    try {
      return Runtime.version().feature() >= FIRST_RELEASE && foreignClass() != null;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static Class<?> foreignClass() throws ClassNotFoundException {
    return Class.forName(FOREIGN, false, BindingChoice.class.getClassLoader());
  }

  /**
   * Starts what was chosen. Where this JVM has no linker for the platform, or denies native access
   * to this jar but not to JNA, JNA it is, unless that will not do.
   *
   * @throws NativeLibraryException if it cannot be started
   */
  Binding bind() {
    return bind(BindingChoice::byForeign, BindingChoice::byJna);
  }

  /** In a method of its own, so that its class is loaded if it is called, and only then. */
  static NativeAccess byJna() {
    return new JnaAccess();
  }

  /** The same with both ways to start. */
  Binding bind(Supplier<NativeAccess> foreign, Supplier<NativeAccess> jna) {
    if (!name.equals(Binding.FFM)) {
      boolean secondBest = !required && Runtime.version().feature() >= FIRST_RELEASE;
      return new Binding(jna.get(), name, reason, secondBest);
    }
    try {
      return new Binding(foreign.get(), name, reason, false);
    } catch (NativeLibraryException e) {
      if (required) {
        throw e;
      }
      return new Binding(jna.get(), Binding.JNA, e.reason() + ": " + e.fix(), true);
    }
  }

  private static NativeAccess byForeign() {
    try {
      return (NativeAccess) foreignClass().getDeclaredConstructor().newInstance();
    } catch (InvocationTargetException e) {
      throw notStarted(e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the jar is damaged: " + FOREIGN, e);
    }
  }

  /**
   * The error for a start that failed.
   *
   * @param thrown by the classes for {@code java.lang.foreign}
   * @return a {@link NativeLibraryException} where JNA may still do, else a fault of this library
   */
  static RuntimeException notStarted(Throwable thrown) {
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      if (t instanceof IllegalCallerException) {
        return denied(thrown);
      }
      if (t instanceof NativeLibraryException known) {
        return known;
      }
    }
    return new IllegalStateException("java.lang.foreign cannot be started", thrown);
  }

  /** This JVM cannot call native code on this platform. */
  static NativeLibraryException noLinker(UnsupportedOperationException cause) {
    return new NativeLibraryException(
        "java.lang.foreign of this JVM has no linker for this platform",
        List.of(),
        "use another JDK, or -D" + NativeLibrary.CALLS_PROPERTY + "=" + Binding.JNA,
        cause);
  }

  /** This JVM was started so that nothing, or not this, may call native code. */
  static NativeLibraryException denied(Throwable cause) {
    return new NativeLibraryException(
        "this JVM denies native access",
        List.of(),
        "start with --enable-native-access=ALL-UNNAMED",
        cause);
  }
}
