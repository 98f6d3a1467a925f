/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The start of the loader: what can be refused before any library is looked for. Each case is a JVM
 * of its own.
 */
class NativeLibraryTest {

  @TempDir Path work;

  private record Run(int exit, String output) {}

  private static Run probe(String... options) throws IOException, InterruptedException {
    return probe(List.of("--enable-native-access=ALL-UNNAMED"), options);
  }

  private static Run probe(List<String> access, String... options)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(access);
    command.addAll(List.of(options));
    command.addAll(
        List.of(
            "-XX:-CreateCoredumpOnCrash",
            "-cp",
            System.getProperty("java.class.path"),
            LoadProbe.class.getName()));
    Process jvm = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(jvm.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    assertThat(jvm.waitFor(60, TimeUnit.SECONDS)).as("ends: " + output).isTrue();
    return new Run(jvm.exitValue(), output);
  }

  private String goodLibrary() {
    return "-Dlci.native.path=" + StubLibrary.complete(work.resolve("good.so"), "4.5.6");
  }

  @Test
  void loadsOnce() throws Exception {
    String library = goodLibrary();
    Run run = probe(library);
    assertThat(run.output()).startsWith("LOADED 4.5.6 from " + library.substring(2) + " by ");
    assertThat(run.output()).doesNotContain("\n");
    assertThat(run.exit()).isZero();
  }

  @Test
  void whatMakesTheCallsCanBeSaid() throws Exception {
    String library = goodLibrary();
    Run jna = probe(library, "-Dlci.native.calls=jna");
    assertThat(jna.output()).endsWith(" by jna: lci.native.calls=jna");
    assertThat(jna.exit()).isZero();
    Run neither = probe(library, "-Dlci.native.calls=jni");
    assertThat(neither.output())
        .startsWith("REFUSED liblci.so cannot be loaded: lci.native.calls=jni is none of")
        .doesNotContain("\n");
    assertThat(neither.exit()).isEqualTo(3);
    Run ffm = probe(library, "-Dlci.native.calls=ffm");
    if (BindingTest.hasFfm()) {
      assertThat(ffm.output()).endsWith(" by ffm: lci.native.calls=ffm");
      assertThat(ffm.exit()).isZero();
    } else {
      assertThat(ffm.output())
          .startsWith("REFUSED liblci.so cannot be loaded: lci.native.calls=ffm, and ")
          .doesNotContain("\n")
          .endsWith(
              "Fix: start without -Dlci.native.calls, so that the best there is gets chosen.");
      assertThat(ffm.exit()).isEqualTo(3);
    }
  }

  /** As of a program whose modules may not all call native code. */
  @Test
  void whereOnlyJnaMayCallNativeCodeItDoes() throws Exception {
    boolean canDeny = Runtime.version().feature() >= 24 && BindingTest.hasFfm();
    if (!canDeny) {
      System.out.println("SKIPPED: this JVM cannot deny native access, or has no other calls");
    }
    assumeTrue(canDeny, "this JVM cannot deny native access, or has no other calls");
    Path jna =
        Path.of(
            com.sun.jna.Native.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<String> access =
        List.of(
            "--module-path=" + jna,
            "--add-modules=com.sun.jna",
            "--enable-native-access=com.sun.jna",
            "--illegal-native-access=deny");
    String library = goodLibrary();
    Run auto = probe(access, library);
    assertThat(auto.output()).contains(" by jna: this JVM denies native access: start with");
    assertThat(auto.exit()).isZero();
    Run ffm = probe(access, library, "-Dlci.native.calls=ffm");
    assertThat(ffm.output())
        .startsWith("REFUSED liblci.so cannot be loaded: this JVM denies native access")
        .endsWith("Fix: start with --enable-native-access=ALL-UNNAMED.");
    assertThat(ffm.exit()).isEqualTo(3);
  }

  /** As on a platform for which the JDK has none; a property of the JDK's own makes it say so. */
  @Test
  void withoutALinkerOfTheJvmJnaTakesOver() throws Exception {
    if (!BindingTest.hasFfm()) {
      System.out.println("SKIPPED: no calls by java.lang.foreign here");
    }
    assumeTrue(BindingTest.hasFfm(), "no calls by java.lang.foreign here");
    String library = goodLibrary();
    String noLinker = "-Djdk.internal.foreign.CABI=UNSUPPORTED";
    Run auto = probe(library, noLinker);
    assertThat(auto.output())
        .startsWith("LOADED 4.5.6")
        .contains(" by jna: java.lang.foreign of this JVM has no linker for this platform")
        .doesNotContain("\n");
    assertThat(auto.exit()).isZero();
    Run ffm = probe(library, noLinker, "-Dlci.native.calls=ffm");
    assertThat(ffm.output())
        .startsWith(
            "REFUSED liblci.so cannot be loaded: java.lang.foreign of this JVM has no linker")
        .doesNotContain("\n");
    assertThat(ffm.exit()).isEqualTo(3);
  }

  /** JNA lies on the class path all the same. */
  @Test
  void whereForeignCallsAreMadeNoClassOfJnaIsLoaded() throws Exception {
    String library = goodLibrary();
    Path byJna = work.resolve("jna.log");
    Run jna = probe(library, "-Dlci.native.calls=jna", "-Xlog:class+load:file=" + byJna);
    assertThat(jna.exit()).as(jna.output()).isZero();
    assertThat(byJna).content().as("a class of JNA is seen").contains(" com.sun.jna.Native ");
    if (!BindingTest.hasFfm()) {
      System.out.println("SKIPPED: no calls by java.lang.foreign here");
    }
    assumeTrue(BindingTest.hasFfm(), "no calls by java.lang.foreign here");
    Path byForeign = work.resolve("ffm.log");
    Run ffm = probe(library, "-Xlog:class+load:file=" + byForeign);
    assertThat(ffm.output()).startsWith("LOADED 4.5.6").contains(" by ffm: ");
    assertThat(byForeign)
        .content()
        .contains(" io.lci.nativebridge.FfmCalls ")
        .doesNotContain(" com.sun.jna.");
  }

  @Test
  void protectedModeIsRefusedBeforeItCrashes() throws Exception {
    String library = goodLibrary();
    Run run = probe(library, "-Djna.protected=true", "-Dlci.native.calls=jna");
    assertThat(run.output())
        .startsWith("REFUSED liblci.so cannot be loaded: jna.protected=true is set")
        .doesNotContain("\n")
        .endsWith("Fix: start without -Djna.protected=true.");
    assertThat(run.exit()).isEqualTo(3);
    Run best = probe(library, "-Djna.protected=true");
    assertThat(best.exit()).as(best.output()).isEqualTo(BindingTest.hasFfm() ? 0 : 3);
  }

  @Test
  void theLibraryOfJnaFollowsTheTemporaryDirectory() throws Exception {
    Path chosen = Files.createDirectory(work.resolve("chosen"));
    Run run =
        probe(
            goodLibrary(),
            "-Dlci.native.calls=jna",
            "-Dlci.native.tmpdir=" + chosen,
            "-Djna.nosys=true",
            "-Djna.debug_load.jna=true");
    assertThat(run.exit()).as(run.output()).isZero();
    assertThat(run.output()).contains(chosen.toString()).contains("LOADED 4.5.6");
  }

  @Test
  void aNoexecDirectoryForTheLibraryOfJnaIsOneClearLine() throws Exception {
    String library = goodLibrary();
    try (NoexecMount mount = NoexecMount.create(work.resolve("noexec"))) {
      String directory = "-Dlci.native.tmpdir=" + mount.directory();
      Run run = probe(library, "-Dlci.native.calls=jna", directory, "-Djna.nosys=true");
      assertThat(run.exit()).as(run.output()).isEqualTo(3);
      assertThat(run.output())
          .startsWith("REFUSED liblci.so cannot be loaded: JNA cannot load its own library: ")
          .doesNotContain("\n")
          .contains(mount.directory().toString())
          .contains("-Dlci.native.tmpdir");
      Run best = probe(library, directory, "-Djna.nosys=true");
      assertThat(best.exit()).as(best.output()).isEqualTo(BindingTest.hasFfm() ? 0 : 3);
    }
  }

  @Test
  void deniedNativeAccessIsNamedWithItsOption() throws Exception {
    boolean canDeny = Runtime.version().feature() >= 24;
    if (!canDeny) {
      System.out.println("SKIPPED: this JVM cannot deny native access: it is older than 24");
    }
    assumeTrue(canDeny, "this JVM cannot deny native access: it is older than 24");
    Run run = probe(List.of(), goodLibrary(), "--illegal-native-access=deny");
    assertThat(run.output())
        .startsWith("REFUSED")
        .contains("this JVM denies native access")
        .contains("Fix: start with --enable-native-access=ALL-UNNAMED.");
    assertThat(run.exit()).isEqualTo(3);
  }

  @Test
  void otherPlatformsAreRefusedByName() {
    assertThatThrownBy(() -> NativeLibrary.refuseOtherPlatforms("Mac OS X", "aarch64"))
        .isInstanceOf(NativeLibraryException.class)
        .hasMessageContaining("Mac OS X aarch64")
        .hasMessageContaining("Linux x86-64 only");
    assertThatThrownBy(() -> NativeLibrary.refuseOtherPlatforms("Linux", "aarch64"))
        .hasMessageContaining("Linux aarch64");
    assertThatCode(() -> NativeLibrary.refuseOtherPlatforms("Linux", "amd64"))
        .doesNotThrowAnyException();
  }
}
