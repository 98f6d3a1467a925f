/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The loaded and checked native library. There is one per JVM, and it is never unloaded: memory
 * that it mapped may be in use for as long as the process lives.
 */
public final class NativeLibrary {

  /** System property: the library's file. */
  public static final String PATH_PROPERTY = "lci.native.path";

  /** System property: a directory that holds {@code liblci.so}. */
  public static final String DIRECTORY_PROPERTY = "lci.native.dir";

  /**
   * System property: where the packed library is copied to while it is loaded; the default is
   * {@code java.io.tmpdir}. If JNA makes the calls, its own library goes there, too, unless {@code
   * jna.tmpdir} is set.
   */
  public static final String TEMPORARY_PROPERTY = "lci.native.tmpdir";

  /**
   * System property: the means by which the library is opened and called. {@code auto} (default):
   * {@code java.lang.foreign} on a JVM of release 22 or newer, else JNA; {@code jna}; {@code ffm},
   * which is an error where it cannot be had.
   */
  public static final String CALLS_PROPERTY = "lci.native.calls";

  /** Where the jar holds the library. */
  public static final String RESOURCE = "linux-x86-64/" + LibraryFile.NAME;

  private static @Nullable NativeLibrary loaded;

  private final NativeCalls calls;
  private final Binding binding;
  private final Layout layout;
  private final String source;

  NativeLibrary(NativeCalls calls, Binding binding, Layout layout, String source) {
    this.calls = calls;
    this.binding = binding;
    this.layout = layout;
    this.source = source;
  }

  /**
   * Loads the library at the first call and answers the same object ever after. The places, in this
   * order:
   *
   * <ol>
   *   <li>the file that the system property {@value #PATH_PROPERTY} names,
   *   <li>{@code liblci.so} in the directory that {@value #DIRECTORY_PROPERTY} names,
   *   <li>{@code liblci.so} in the directories of {@code java.library.path}; one that does not do
   *       is passed over,
   *   <li>{@value #RESOURCE} in the jar, copied to a private file in {@value #TEMPORARY_PROPERTY}
   *       that is deleted as soon as it is loaded.
   * </ol>
   *
   * <p>A property that is set is final: if what it names does not do, nothing else is tried. The
   * layout of everything shared is compared before anything is called. [V10] What then makes the
   * calls says {@value #CALLS_PROPERTY}.
   *
   * @throws NativeLibraryException if there is no usable library; the next call tries again
   */
  public static synchronized NativeLibrary load() {
    NativeLibrary result = loaded;
    if (result == null) {
      result = search();
      loaded = result;
    }
    return result;
  }

  private static NativeLibrary search() {
    refuseOtherPlatforms(System.getProperty("os.name", ""), System.getProperty("os.arch", ""));
    LibraryOpener opener = new LibraryOpener(BindingChoice.ofThisJvm());
    return new LibrarySearch<>(
            System::getProperty,
            () -> NativeLibrary.class.getClassLoader().getResourceAsStream(RESOURCE),
            opener::open)
        .run();
  }

  static void refuseOtherPlatforms(String system, String architecture) {
    String arch = architecture.toLowerCase(Locale.ROOT);
    if (!system.equals("Linux") || !(arch.equals("amd64") || arch.equals("x86_64"))) {
      throw new NativeLibraryException(
          "this JVM runs on "
              + system
              + " "
              + architecture
              + ", and the library exists for Linux x86-64 only",
          List.of(),
          "use a 64-bit JVM on Linux x86-64",
          null);
    }
  }

  /** The functions of the library. */
  public NativeCalls calls() {
    return calls;
  }

  /** What makes the calls: "jna" or "ffm" ({@code java.lang.foreign}). */
  public String callsBy() {
    return binding.name();
  }

  /** Why it is this one, for people. */
  public String callsReason() {
    return binding.reason();
  }

  /** Whether this JVM could make the calls in a faster way, and nobody asked for this one. */
  public boolean callsAreSecondBest() {
    return binding.secondBest();
  }

  /** Where the parts of a lane lie in this library. */
  public Layout layout() {
    return layout;
  }

  /** The place that the library came from, for people. */
  public String source() {
    return source;
  }

  /** The library's version, "major.minor.patch". */
  public String version() {
    return NativeMemory.string(calls.version());
  }

  /** Text of the calling thread's last error; empty if it had none. */
  public String lastError() {
    return NativeMemory.string(calls.lastError());
  }
}
