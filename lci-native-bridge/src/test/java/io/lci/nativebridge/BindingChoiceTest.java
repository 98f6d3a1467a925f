/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What makes the calls: by itself the best that there is, else what was said, or an error. */
class BindingChoiceTest {

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

  @Test
  void needsNoProperty() {
    assertThat(System.getProperty(NativeLibrary.CALLS_PROPERTY)).isNull();
    assertThat(BindingChoice.ofThisJvm().required()).isFalse();
  }
}
