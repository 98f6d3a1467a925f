/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.lang.reflect.Proxy;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What makes the calls: by itself the best that there is, else what was said, or an error. */
class BindingChoiceTest {

  private static final NativeAccess JNA =
      (NativeAccess)
          Proxy.newProxyInstance(
              BindingChoiceTest.class.getClassLoader(),
              new Class<?>[] {NativeAccess.class},
              (self, method, arguments) -> {
                throw new AssertionError("called: " + method);
              });

  @ParameterizedTest
  @CsvSource({
    ", 17, false, jna, 'release 17, java.lang.foreign needs 22'",
    ", 21, true, jna, 'release 21, java.lang.foreign needs 22'",
    ", 22, true, ffm, release 22",
    "auto, 25, true, ffm, release 25",
    "auto, 25, false, jna, repacked without Multi-Release: true",
    "jna, 17, false, jna, lci.native.calls=jna",
    "jna, 25, true, jna, lci.native.calls=jna",
    "ffm, 25, true, ffm, lci.native.calls=ffm"
  })
  void isTheBestOrWhatIsWanted(
      String wanted, int release, boolean hasClasses, String name, String reason) {
    BindingChoice choice = BindingChoice.of(wanted, release, hasClasses);
    assertThat(choice.name()).isEqualTo(name);
    assertThat(choice.reason()).contains(reason);
    assertThat(choice.required()).isEqualTo(wanted != null && !wanted.equals("auto"));
  }

  @ParameterizedTest
  @CsvSource({
    "ffm, 17, true, 'lci.native.calls=ffm, and this JVM is of release 17'",
    "ffm, 25, false, 'lci.native.calls=ffm, and the classes for java.lang.foreign are not there'",
    "FFM, 25, true, 'lci.native.calls=FFM is none of auto, jna and ffm'",
    "'', 25, true, 'lci.native.calls= is none of auto, jna and ffm'"
  })
  void refusesWhatCannotBe(String wanted, int release, boolean hasClasses, String reason) {
    assertThatThrownBy(() -> BindingChoice.of(wanted, release, hasClasses))
        .isInstanceOf(NativeLibraryException.class)
        .hasMessageContaining(reason)
        .hasMessageContaining("start without -Dlci.native.calls");
  }

  /** What the JVM throws where its calls cannot be had; as it is, or out of constants. */
  static Stream<Arguments> obstacles() {
    Throwable noLinker =
        BindingChoice.noLinker(new UnsupportedOperationException("no native linker"));
    Throwable denied = new IllegalCallerException("illegal native access");
    return Stream.of(
        arguments(noLinker, "no linker for this platform"),
        arguments(new ExceptionInInitializerError(noLinker), "no linker for this platform"),
        arguments(denied, "this JVM denies native access"),
        arguments(new ExceptionInInitializerError(denied), "this JVM denies native access"));
  }

  @ParameterizedTest
  @MethodSource("obstacles")
  void jnaTakesOverWhereTheJvmCannot(Throwable thrown, String reason) {
    Binding binding = BindingChoice.of(null, 25, true).bind(failing(thrown), () -> JNA);
    assertThat(binding.access()).isSameAs(JNA);
    assertThat(binding.name()).isEqualTo("jna");
    assertThat(binding.reason()).contains(reason).doesNotContain("\n");
    assertThat(binding.secondBest()).isTrue();
  }

  @ParameterizedTest
  @MethodSource("obstacles")
  void whatIsRequiredFailsWithTheReason(Throwable thrown, String reason) {
    BindingChoice choice = BindingChoice.of("ffm", 25, true);
    assertThatThrownBy(() -> choice.bind(failing(thrown), () -> JNA))
        .isInstanceOf(NativeLibraryException.class)
        .hasMessageContaining(reason)
        .hasMessageContaining("Fix: ");
  }

  static Stream<Throwable> faults() {
    return Stream.of(
        new IllegalStateException("lci_new is no method of NativeCalls"),
        new UnsupportedOperationException("an immutable list was changed"));
  }

  /** A fault of ours must not hide behind slower calls. */
  @ParameterizedTest
  @MethodSource("faults")
  void otherFailuresAreToldWhateverIsWanted(Throwable fault) {
    BindingChoice choice = BindingChoice.of(null, 25, true);
    assertThatThrownBy(() -> choice.bind(failing(fault), () -> JNA))
        .isInstanceOf(IllegalStateException.class)
        .hasRootCause(fault);
  }

  private static Supplier<NativeAccess> failing(Throwable thrown) {
    return () -> {
      throw BindingChoice.notStarted(thrown);
    };
  }

  @Test
  void needsNoProperty() {
    assertThat(System.getProperty(NativeLibrary.CALLS_PROPERTY)).isNull();
    assertThat(BindingChoice.ofThisJvm().required()).isFalse();
  }
}
