/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import io.lci.nativebridge.NativeLibraryException.Attempt;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Looks for the library in the order that {@link NativeLibrary#load()} documents. What the user
 * names by a property is final: if it does not do, the search ends there, so that a wrong path
 * never turns into another library.
 */
final class LibrarySearch<T> {

  /** Opens one file as the library. */
  @FunctionalInterface
  interface Opener<T> {
    T open(Path file, String source) throws UnusableLibraryException;
  }

  private final @Nullable String explicitFile;
  private final @Nullable String explicitDirectory;
  private final String libraryPath;
  private final Path temporaryDirectory;
  private final Supplier<@Nullable InputStream> resource;
  private final Opener<T> opener;
  private final List<Attempt> attempts = new ArrayList<>();

  /**
   * A search of its own.
   *
   * @param properties value of a system property, or null
   * @param resource the library in the jar, or null if there is none
   */
  LibrarySearch(
      UnaryOperator<@Nullable String> properties,
      Supplier<@Nullable InputStream> resource,
      Opener<T> opener) {
    this.explicitFile = properties.apply(NativeLibrary.PATH_PROPERTY);
    this.explicitDirectory = properties.apply(NativeLibrary.DIRECTORY_PROPERTY);
    this.libraryPath = orElse(properties.apply("java.library.path"), "");
    String chosen = properties.apply(NativeLibrary.TEMPORARY_PROPERTY);
    this.temporaryDirectory =
        Path.of(orElse(chosen, orElse(properties.apply("java.io.tmpdir"), "/tmp")));
    this.resource = resource;
    this.opener = opener;
  }

  /** The first place that works. */
  T run() {
    if (explicitFile != null) {
      return openNamed(NativeLibrary.PATH_PROPERTY + "=" + explicitFile, Path.of(explicitFile));
    }
    attempts.add(new Attempt(NativeLibrary.PATH_PROPERTY, "not set"));
    if (explicitDirectory != null) {
      Path file = Path.of(explicitDirectory, LibraryFile.NAME);
      return openNamed(NativeLibrary.DIRECTORY_PROPERTY + "=" + explicitDirectory, file);
    }
    attempts.add(new Attempt(NativeLibrary.DIRECTORY_PROPERTY, "not set"));
    T found = openOnLibraryPath();
    return found != null ? found : openPacked();
  }

  private T openNamed(String place, Path file) {
    try {
      return open(place, file);
    } catch (UnusableLibraryException e) {
      throw failure(place, e.reason(), e.fix() + ", or unset the property", e);
    }
  }

  /**
   * A stranger of the same name in a system directory must not end the search: it is noted and
   * passed over.
   */
  private @Nullable T openOnLibraryPath() {
    boolean seen = false;
    for (String directory : libraryPath.split(File.pathSeparator)) {
      Path file = Path.of(directory, LibraryFile.NAME);
      if (directory.isEmpty() || !Files.exists(file)) {
        continue;
      }
      seen = true;
      try {
        return open("java.library.path", file);
      } catch (UnusableLibraryException e) {
        attempts.add(new Attempt("java.library.path, " + file, e.reason()));
      }
    }
    if (!seen) {
      attempts.add(new Attempt("java.library.path=" + libraryPath, "holds no " + LibraryFile.NAME));
    }
    return null;
  }

  private T openPacked() {
    String place = NativeLibrary.RESOURCE + " in the jar";
    Path copy;
    try (InputStream packed = resource.get()) {
      if (packed == null) {
        String fix =
            "use a complete jar of lci-native-bridge, or name a library by -D"
                + NativeLibrary.PATH_PROPERTY;
        throw failure(place, "this jar holds no library", fix, null);
      }
      refuseNoexec(place);
      copy = copyOut(packed);
    } catch (IOException e) {
      String reason = "cannot be copied to directory " + temporaryDirectory + ": " + e;
      throw failure(place, reason, temporaryFix("can be written"), e);
    }
    try {
      return open(place, copy);
    } catch (UnusableLibraryException e) {
      throw failure(place, e.reason(), e.fix(), e);
    } finally {
      delete(copy);
    }
  }

  /** Before the linker sees it: it would fail with fewer words, and leave the file mapped. */
  private void refuseNoexec(String place) {
    String mount = MountOptions.noexecMountOf(temporaryDirectory);
    if (mount != null) {
      String reason =
          "directory "
              + temporaryDirectory
              + " forbids execution ("
              + mount
              + " is mounted noexec)";
      throw failure(place, reason, temporaryFix("allows execution"), null);
    }
  }

  private T open(String source, Path file) throws UnusableLibraryException {
    LibraryFile.check(file);
    return opener.open(file.toAbsolutePath(), source);
  }

  /** A file of a random name that only this user can read or replace. */
  private Path copyOut(InputStream packed) throws IOException {
    Path copy = Files.createTempFile(temporaryDirectory, "lci-", ".so");
    try (OutputStream out = Files.newOutputStream(copy)) {
      packed.transferTo(out);
    } catch (IOException e) {
      delete(copy);
      throw e;
    }
    return copy;
  }

  /**
   * The mapping outlives the name; a file that cannot be deleted now is deleted when the JVM ends.
   */
  private static void delete(Path copy) {
    try {
      Files.deleteIfExists(copy);
    } catch (IOException e) {
      copy.toFile().deleteOnExit();
    }
  }

  private static String temporaryFix(String quality) {
    return "name a directory that "
        + quality
        + " by -D"
        + NativeLibrary.TEMPORARY_PROPERTY
        + ", or unpack "
        + NativeLibrary.RESOURCE
        + " from the jar and name the file by -D"
        + NativeLibrary.PATH_PROPERTY;
  }

  private NativeLibraryException failure(
      String place, String reason, String fix, @Nullable Throwable cause) {
    attempts.add(new Attempt(place, reason));
    return new NativeLibraryException(reason, attempts, fix, cause);
  }

  private static String orElse(@Nullable String value, String otherwise) {
    return value == null || value.isEmpty() ? otherwise : value;
  }
}
