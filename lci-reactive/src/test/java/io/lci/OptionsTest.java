/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Options and where they come from. */
@ExtendWith(LciLeakCheck.class)
class OptionsTest {
  @Test
  void valuesAreChecked() {
    assertThatThrownBy(() -> LciOptions.builder().loops(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("loops must be in 1..128");
    assertThatThrownBy(() -> LciOptions.builder().closeTimeout(Duration.ofMillis(-1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void mutateKeepsWhatWasSet() {
    LciOptions options = LciOptions.builder().loops(3).attribute("packets", "64").build();
    LciOptions changed = options.mutate().maxParked(5).build();
    assertThat(changed.loops()).isEqualTo(3);
    assertThat(changed.attributes()).containsEntry("packets", "64");
    assertThat(changed.maxParked()).isEqualTo(5);
    assertThat(options.maxParked()).isEqualTo(LciOptions.DEFAULT_MAX_PARKED);
  }

  @Test
  void effectiveOptionsShowTheCoresAttributes() {
    try (LciTestJob job =
        LciTestJob.start(1, LciOptions.builder().attribute("packets", "64").build())) {
      assertThat(job.rank(0).options().attributes())
          .containsEntry("packets", "64")
          .containsEntry("devices", "1")
          .containsKey("ring_bytes");
    }
  }

  @Test
  void aPropertyCountsUnlessTheBuilderSpoke() {
    System.setProperty("lci.loops", "2");
    System.setProperty("lci.packets", "128");
    try (LciTestJob job = LciTestJob.start(1);
        LciTestJob spoken = LciTestJob.start(1, LciOptions.builder().loops(1).build())) {
      assertThat(job.rank(0).loops()).hasSize(2);
      assertThat(job.rank(0).options().attributes()).containsEntry("packets", "128");
      assertThat(spoken.rank(0).loops()).hasSize(1);
    } finally {
      System.clearProperty("lci.loops");
      System.clearProperty("lci.packets");
    }
  }

  @Test
  void anUnknownPropertyIsAnErrorThatNamesTheNearest() {
    System.setProperty("lci.lops", "2");
    try {
      assertThatThrownBy(() -> LciTestJob.start(1))
          .isInstanceOf(CompletionException.class)
          .cause()
          .isInstanceOf(LciException.class)
          .hasMessageContaining("lci.lops")
          .hasMessageContaining("lci.loops");
    } finally {
      System.clearProperty("lci.lops");
    }
  }

  @Test
  void aBadValueNamesItselfAndTheAttribute() {
    assertThatThrownBy(
            () -> LciTestJob.start(1, LciOptions.builder().attribute("packets", "many").build()))
        .cause()
        .isInstanceOf(LciException.class)
        .hasMessageContaining("packets")
        .hasMessageContaining("many");
    assertThatThrownBy(
            () -> LciTestJob.start(1, LciOptions.builder().attribute("packet", "64").build()))
        .cause()
        .isInstanceOf(LciException.class)
        .hasMessageContaining("did you mean packets?");
  }

  /** Whoever prints options sees all of them; spins and yields are in the idle strategy. */
  @Test
  void everyOptionIsInTheText() {
    Stream<String> names =
        Arrays.stream(LciOptions.class.getDeclaredFields())
            .filter(field -> !Modifier.isStatic(field.getModifiers()) && !field.isSynthetic())
            .map(Field::getName)
            .filter(name -> !name.equals("idleSpins") && !name.equals("idleYields"));
    assertThat(names)
        .hasSizeGreaterThan(9)
        .allSatisfy(name -> assertThat(LciOptions.defaults().toString()).contains(name + "="));
  }
}
