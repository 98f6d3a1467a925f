/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call of every binding reaches its own function, with its own arguments. */
class BindingTest {

  /** Functions of a stub that do more than note what they are given. */
  private static final Set<String> OTHERS =
      Set.of("lci_version", "lci_layout", StubLibrary.LAST_CALLED);

  @TempDir static Path work;
  private static Path stub;

  /** A JVM links one library by {@code java.lang.foreign}, so it is linked once. */
  private static NativeLibrary byFfm;

  @BeforeAll
  static void linkAsFarAsPossible() throws Exception {
    stub = StubLibrary.complete(work.resolve("noting.so"), "1.2.3");
    if (hasFfm()) {
      byFfm = open("ffm", stub);
    }
  }

  /** Whether this JVM, on this jar, has the calls by {@code java.lang.foreign}. */
  static boolean hasFfm() {
    return BindingChoice.ofThisJvm().name().equals("ffm");
  }

  private static NativeLibrary open(String name, Path file) throws UnusableLibraryException {
    return new LibraryOpener(new BindingChoice(name, true, "a test")).open(file, "here");
  }

  private static NativeLibrary library(String name) throws UnusableLibraryException {
    if (name.equals("jna")) {
      return open(name, stub);
    }
    if (!hasFfm()) {
      System.out.println("SKIPPED: no calls by java.lang.foreign here");
    }
    assumeTrue(hasFfm(), "no calls by java.lang.foreign here");
    return byFfm;
  }

  @ParameterizedTest
  @ValueSource(strings = {"jna", "ffm"})
  void everyCallReachesItsFunctionWithItsArguments(String name) throws Exception {
    NativeLibrary library = library(name);
    assertThat(library.callsBy()).isEqualTo(name);
    assertThat(library.callsReason()).isEqualTo("a test");
    NativeCalls calls = library.calls();
    int count = 0;
    for (Method method : NativeCalls.class.getDeclaredMethods()) {
      String symbol =
          "lci_" + method.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
      if (OTHERS.contains(symbol)) {
        continue;
      }
      List<Number> arguments = arguments(method.getParameterTypes());
      long expected = StubLibrary.called(symbol, arguments);
      Object result = method.invoke(calls, arguments.toArray());
      if (method.getReturnType() == long.class) {
        assertThat(result).as(method.getName()).isEqualTo(expected);
      } else if (method.getReturnType() == int.class) {
        assertThat(result).as(method.getName()).isEqualTo((int) expected);
      }
      assertThat(calls.lastErrorRank()).as(method.getName()).isEqualTo((int) expected);
      count++;
    }
    assertThat(count).isGreaterThan(70);
    assertThat(library.version()).isEqualTo("1.2.3");
    assertThat(calls.layout(0, 0)).isEqualTo(LayoutId.values().length);
  }

  /** Different ones, that no narrower type holds; negative where they are of 32 bits. */
  private static List<Number> arguments(Class<?>[] types) {
    List<Number> arguments = new ArrayList<>();
    for (int i = 0; i < types.length; i++) {
      if (types[i] == int.class) {
        arguments.add(-(1 << 30) - 7 * i);
      } else {
        arguments.add((1L << 33) + 11L * i);
      }
    }
    return arguments;
  }

  @Test
  void handlesAreForGood() throws Exception {
    library("ffm");
    Path other = StubLibrary.complete(work.resolve("other.so"), "1.2.4");
    assertThatThrownBy(() -> open("ffm", other))
        .hasMessage("a library is linked already, and for good");
    assertThat(byFfm.version()).isEqualTo("1.2.3");
  }

  /** The loader closes it after it told it to stay. */
  @ParameterizedTest
  @ValueSource(strings = {"jna", "ffm"})
  void theLibraryStaysOpen(String name) throws Exception {
    NativeLibrary library = library(name);
    for (int i = 0; i < 3; i++) {
      System.gc();
      byte[] memory = new byte[1 << 20];
      assertThat(memory).isNotNull();
    }
    assertThat(Path.of("/proc/self/maps")).content().contains(stub.toString());
    assertThat(library.version()).isEqualTo("1.2.3");
  }
}
