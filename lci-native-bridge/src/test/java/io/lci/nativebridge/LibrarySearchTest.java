/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The order of the places, and a clear reason for every one that does not do. Opens real files with
 * the real linker.
 */
class LibrarySearchTest {

  @TempDir static Path libraries;
  private static Path good;
  private static LibraryOpener jna;

  /** Refuses in the same words; it could bind one library only. */
  private static @Nullable LibraryOpener foreign;

  @TempDir Path work;
  private final Map<String, String> properties = new HashMap<>();
  private byte @Nullable [] packed;
  private LibraryOpener opener = jna;
  private final List<Path> opened = new ArrayList<>();

  @BeforeAll
  static void startAllThereIs() {
    jna = new LibraryOpener(new BindingChoice(Binding.JNA, true, "a test"));
    if (BindingTest.hasFfm()) {
      foreign = new LibraryOpener(new BindingChoice(Binding.FFM, true, "a test"));
    }
    good = StubLibrary.complete(libraries.resolve("good.so"), "1.2.3");
  }

  @BeforeEach
  void emptyPlaces() throws IOException {
    Files.createDirectories(work.resolve("tmp"));
    properties.put("java.io.tmpdir", work.resolve("tmp").toString());
    properties.put("java.library.path", work.resolve("a") + ":" + work.resolve("b") + "::");
  }

  private NativeLibrary search() {
    return new LibrarySearch<>(properties::get, this::resource, this::open).run();
  }

  private @Nullable InputStream resource() {
    return packed == null ? null : new ByteArrayInputStream(packed);
  }

  private NativeLibrary open(Path file, String source) throws UnusableLibraryException {
    opened.add(file);
    return opener.open(file, source);
  }

  private NativeLibraryException failure() {
    NativeLibraryException failure = failureOf(jna);
    if (foreign != null) {
      assertThat(withoutRandomNames(failureOf(foreign))).isEqualTo(withoutRandomNames(failure));
    }
    return failure;
  }

  private static String withoutRandomNames(NativeLibraryException failure) {
    return failure.getMessage().replaceAll("/lci-\\d+\\.so", "/lci-N.so");
  }

  private NativeLibraryException failureOf(LibraryOpener used) {
    opener = used;
    NativeLibraryException failure =
        catchThrowableOfType(NativeLibraryException.class, this::search);
    assertThat(failure).isNotNull();
    assertThat(failure.getMessage())
        .doesNotContain("\n")
        .contains(failure.reason())
        .contains("Fix: " + failure.fix());
    failure
        .attempts()
        .forEach(attempt -> assertThat(failure.getMessage()).contains(attempt.toString()));
    return failure;
  }

  private static Path place(Path library, Path directory) throws IOException {
    Files.createDirectories(directory);
    return Files.copy(library, directory.resolve("liblci.so"));
  }

  @Test
  void theFilePropertyComesFirst() throws IOException {
    place(good, work.resolve("dir"));
    properties.put("lci.native.path", good.toString());
    properties.put("lci.native.dir", work.resolve("dir").toString());
    NativeLibrary library = search();
    assertThat(opened).containsExactly(good);
    assertThat(library.source()).isEqualTo("lci.native.path=" + good);
    assertThat(library.version()).isEqualTo("1.2.3");
    assertThat(library.layout().completionCount()).isEqualTo(1024);
  }

  @Test
  void theDirectoryPropertyComesSecond() throws IOException {
    Path named = place(good, work.resolve("dir"));
    place(good, work.resolve("a"));
    properties.put("lci.native.dir", work.resolve("dir").toString());
    search();
    assertThat(opened).containsExactly(named);
  }

  @Test
  void theLibraryPathComesThirdInItsOrder() throws IOException {
    Path found = place(good, work.resolve("b"));
    packed = Files.readAllBytes(good);
    assertThat(search().source()).isEqualTo("java.library.path");
    assertThat(opened).containsExactly(found);
  }

  @Test
  void aStrangerOnTheLibraryPathIsPassedOver() throws IOException {
    Path stranger = place(StubLibrary.stranger(work.resolve("stranger.so")), work.resolve("a"));
    Path found = place(good, work.resolve("b"));
    search();
    assertThat(opened).containsExactly(stranger, found);
  }

  @Test
  void thePackedLibraryComesLastAndLeavesNoFile() throws IOException {
    packed = Files.readAllBytes(good);
    NativeLibrary library = search();
    assertThat(library.source()).isEqualTo("linux-x86-64/liblci.so in the jar");
    assertThat(library.version()).as("works although its file is gone").isEqualTo("1.2.3");
    assertThat(opened.get(0).getParent()).isEqualTo(work.resolve("tmp"));
    assertThat(work.resolve("tmp")).isEmptyDirectory();
  }

  @Test
  void thePackedLibraryIsCopiedToAPrivateFile() throws IOException {
    packed = Files.readAllBytes(good);
    List<String> permissions = new ArrayList<>();
    new LibrarySearch<>(
            properties::get,
            this::resource,
            (file, source) -> {
              try {
                permissions.add(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
              } catch (IOException e) {
                throw new UnusableLibraryException("cannot be looked at", "", e);
              }
              return "opened";
            })
        .run();
    assertThat(permissions).containsExactly("rw-------");
  }

  @Test
  void theTemporaryDirectoryCanBeChosen() throws IOException {
    packed = Files.readAllBytes(good);
    Path chosen = Files.createDirectory(work.resolve("chosen"));
    properties.put("lci.native.tmpdir", chosen.toString());
    search();
    assertThat(opened.get(0).getParent()).isEqualTo(chosen);
    assertThat(chosen).isEmptyDirectory();
  }

  @Test
  void aNamedFileThatIsMissingEndsTheSearch() throws IOException {
    packed = Files.readAllBytes(good);
    properties.put("lci.native.path", "/no/such/liblci.so");
    NativeLibraryException failure = failure();
    assertThat(failure.attempts()).hasSize(1);
    assertThat(failure.reason()).isEqualTo("no such file: /no/such/liblci.so");
    assertThat(failure)
        .hasMessageContaining("lci.native.path=/no/such/liblci.so")
        .hasMessageContaining("unset");
    assertThat(opened).isEmpty();
  }

  @Test
  void aNamedDirectoryWithoutTheLibraryEndsTheSearch() throws IOException {
    packed = Files.readAllBytes(good);
    properties.put("lci.native.dir", work.toString());
    NativeLibraryException failure = failure();
    assertThat(failure.attempts())
        .extracting("place")
        .containsExactly("lci.native.path", "lci.native.dir=" + work);
    assertThat(failure.reason()).isEqualTo("no such file: " + work.resolve("liblci.so"));
  }

  @Test
  void everyPlaceIsNamedWhenNoneHasIt() {
    NativeLibraryException failure = failure();
    assertThat(failure.attempts())
        .extracting("place")
        .containsExactly(
            "lci.native.path",
            "lci.native.dir",
            "java.library.path=" + properties.get("java.library.path"),
            "linux-x86-64/liblci.so in the jar");
    assertThat(failure.reason()).isEqualTo("this jar holds no library");
    assertThat(failure.fix()).contains("-Dlci.native.path");
  }

  @Test
  void anotherMachinesLibraryIsNamedAsSuch() throws IOException {
    byte[] foreign = Files.readAllBytes(good);
    foreign[18] = (byte) 183;
    packed = foreign;
    NativeLibraryException failure = failure();
    assertThat(failure.reason()).contains("built for aarch64").contains("x86-64");
    assertThat(opened).isEmpty();
    assertThat(work.resolve("tmp")).isEmptyDirectory();
  }

  @Test
  void aMissingDependencyIsNamedByTheLinker() throws IOException {
    properties.put("lci.native.path", StubLibrary.orphan(work.resolve("orphan.so")).toString());
    NativeLibraryException failure = failure();
    assertThat(failure.reason())
        .contains("liblcineeded.so")
        .contains("cannot open shared object file");
    assertThat(failure.fix()).contains("install");
  }

  @Test
  void aDamagedLibraryIsReportedInTheLinkersWords() throws IOException {
    byte[] bytes = Files.readAllBytes(good);
    Path damaged = Files.write(work.resolve("damaged.so"), java.util.Arrays.copyOf(bytes, 200));
    properties.put("lci.native.path", damaged.toString());
    assertThat(failure().reason()).startsWith("the linker says: ").contains(damaged.toString());
  }

  @Test
  void anotherAbiIsRefusedWithBothValues() {
    long[] layout = LayoutTest.rightValues();
    layout[LayoutId.ABI.index()] = 99;
    properties.put(
        "lci.native.path", StubLibrary.withLayout(work.resolve("abi.so"), layout).toString());
    NativeLibraryException failure = failure();
    assertThat(failure.reason())
        .isEqualTo(
            "layout mismatch: ABI: the library has 99, this bridge expects " + Layout.ABI_VERSION);
    assertThat(failure.fix()).contains("same version");
  }

  // Proves: V10
  @Test
  void anotherLayoutIsRefusedWithBothValues() {
    long[] layout = LayoutTest.rightValues();
    layout[LayoutId.RECORD_CONTEXT.index()] = 40;
    properties.put(
        "lci.native.path", StubLibrary.withLayout(work.resolve("layout.so"), layout).toString());
    assertThat(failure().reason())
        .isEqualTo("layout mismatch: RECORD_CONTEXT: the library has 40, this bridge expects 24");
  }

  @Test
  void missingFunctionsAreAllNamed() {
    Path file = StubLibrary.without(work.resolve("old.so"), Set.of("lci_lane_enter", "lci_info"));
    properties.put("lci.native.path", file.toString());
    assertThat(failure().reason()).isEqualTo(file + " has no function lci_info, lci_lane_enter");
  }

  @Test
  void aStrangerIsNamedAsSuch() {
    properties.put("lci.native.path", StubLibrary.stranger(work.resolve("other.so")).toString());
    assertThat(failure().reason()).contains("is another library: it has no function lci_layout");
  }

  @Test
  void aMissingTemporaryDirectoryIsNamedWithItsProperty() throws IOException {
    packed = Files.readAllBytes(good);
    properties.put("lci.native.tmpdir", "/no/such/directory");
    NativeLibraryException failure = failure();
    assertThat(failure.reason()).contains("/no/such/directory").contains("NoSuchFileException");
    assertThat(failure.fix()).contains("-Dlci.native.tmpdir");
  }

  @Test
  void aNoexecTemporaryDirectoryIsNamedWithItsProperty() throws Exception {
    packed = Files.readAllBytes(good);
    try (NoexecMount mount = NoexecMount.create(work.resolve("noexec"))) {
      properties.put("lci.native.tmpdir", mount.directory().toString());
      NativeLibraryException failure = failure();
      assertThat(failure.reason())
          .contains("directory " + mount.directory() + " forbids execution")
          .contains(mount.directory() + " is mounted noexec");
      assertThat(failure.fix()).contains("-Dlci.native.tmpdir").contains("-Dlci.native.path");
      try (Stream<Path> left = Files.list(mount.directory())) {
        assertThat(left).isEmpty();
      }
    }
  }

  @Test
  void aNamedFileThatMustNotBeExecutedIsNamedAsSuch() throws Exception {
    try (NoexecMount mount = NoexecMount.create(work.resolve("noexec"))) {
      Path file = place(good, mount.directory());
      properties.put("lci.native.path", file.toString());
      assertThat(failure().reason())
          .isEqualTo(file + " lies on " + mount.directory() + ", which is mounted noexec");
      Files.delete(file);
    }
  }
}
