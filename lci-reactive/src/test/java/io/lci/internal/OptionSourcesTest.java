/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.IdleStrategy;
import io.lci.LciOptions;
import io.lci.ProgressStrategy;
import io.lci.error.LciException;
import io.lci.internal.loop.IdleSteps;
import io.lci.internal.runtime.OptionSources;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every option by every source: builder, system property, environment, default. */
class OptionSourcesTest {
  private static final Set<String> ATTRIBUTES = Set.of("packets", "max_posted", "chaos", "devices");

  /** An option, two values that are not its default, and how it is set and read. */
  enum Option {
    LOOPS("2", "3", (b, v) -> b.loops(Integer.parseInt(v)), LciOptions::loops),
    DEVICES("2", "3", (b, v) -> b.devices(Integer.parseInt(v)), LciOptions::devices),
    INVOKER("true", "false", (b, v) -> b.invoker(Boolean.parseBoolean(v)), LciOptions::invoker),
    IDLE(
        "parking",
        "busy_spin",
        (b, v) -> b.idle("parking".equals(v) ? IdleSteps.PARKING : IdleSteps.BUSY_SPIN),
        o -> ((IdleSteps) o.idle()).name()),
    PROGRESS(
        "random:5",
        "global:7",
        (b, v) ->
            b.progress(
                "random:5".equals(v) ? ProgressStrategy.random(5) : ProgressStrategy.global(7)),
        LciOptions::progress),
    AFFINITY(
        "1",
        "0",
        (b, v) -> b.affinity(Integer.parseInt(v)),
        o -> o.affinity().stream().map(String::valueOf).collect(Collectors.joining())),
    IDLE_SPINS("5", "0", (b, v) -> b.idleSpins(Integer.parseInt(v)), LciOptions::idleSpins),
    IDLE_YIELDS("5", "0", (b, v) -> b.idleYields(Integer.parseInt(v)), LciOptions::idleYields),
    MAX_POSTED("10", "20", (b, v) -> b.maxPosted(Integer.parseInt(v)), LciOptions::maxPosted),
    MAX_PARKED("10", "20", (b, v) -> b.maxParked(Integer.parseInt(v)), LciOptions::maxParked),
    MAX_RECEIVE_BYTES(
        "10", "20", (b, v) -> b.maxReceiveBytes(Integer.parseInt(v)), LciOptions::maxReceiveBytes),
    CLOSE_TIMEOUT_MS(
        "10", "0", (b, v) -> b.closeTimeout(millis(v)), o -> o.closeTimeout().toMillis()),
    STALL_WARNING_MS(
        "10", "0", (b, v) -> b.stallWarning(millis(v)), o -> o.stallWarning().toMillis()),
    BLOCKED_WARNING_MS(
        "10", "0", (b, v) -> b.blockedWarning(millis(v)), o -> o.blockedWarning().toMillis());

    final String one;
    final String other;
    final BiFunction<LciOptions.Builder, String, LciOptions.Builder> set;
    final Function<LciOptions, Object> read;

    Option(
        String one,
        String other,
        BiFunction<LciOptions.Builder, String, LciOptions.Builder> set,
        Function<LciOptions, Object> read) {
      this.one = one;
      this.other = other;
      this.set = set;
      this.read = read;
    }

    String property() {
      return "lci." + name().toLowerCase(Locale.ROOT);
    }

    String variable() {
      return "LCI_ATTR_" + name();
    }

    String of(LciOptions options) {
      return read.apply(options).toString();
    }

    private static Duration millis(String text) {
      return Duration.ofMillis(Long.parseLong(text));
    }
  }

  private final Properties properties = new Properties();

  private LciOptions resolve(LciOptions options, Map<String, String> environment) {
    return new OptionSources(ATTRIBUTES, properties, environment).resolve(options);
  }

  private String refusal(Map<String, String> environment) {
    try {
      resolve(LciOptions.defaults(), environment);
    } catch (LciException e) {
      assertThat(e.code()).isEqualTo("error_attribute");
      return e.getMessage();
    }
    throw new AssertionError("not refused");
  }

  @ParameterizedTest
  @EnumSource
  void theFirstSourceThatSpeaksDecides(Option option) {
    Map<String, String> environment = Map.of(option.variable(), option.one);
    assertThat(option.of(resolve(LciOptions.defaults(), Map.of())))
        .isEqualTo(option.of(LciOptions.defaults()));
    assertThat(option.of(resolve(LciOptions.defaults(), environment))).isEqualTo(option.one);

    properties.setProperty(option.property(), option.other);
    assertThat(option.of(resolve(LciOptions.defaults(), environment))).isEqualTo(option.other);

    LciOptions built = option.set.apply(LciOptions.builder(), option.one).build();
    assertThat(option.of(resolve(built, Map.of(option.variable(), option.other))))
        .isEqualTo(option.one);
  }

  /** Those of the loader, and of the build, which hands them on to tests. */
  @Test
  void propertiesOfTheLoaderAreKnownByName() {
    for (String name : new String[] {"path", "dir", "tmpdir", "calls", "build", "test.skip"}) {
      properties.setProperty("lci.native." + name, "x");
    }
    assertThat(resolve(LciOptions.defaults(), Map.of()).loops()).isEqualTo(1);
    properties.setProperty("lci.native.cals", "ffm");
    assertThat(refusal(Map.of()))
        .contains("unknown system property lci.native.cals", "did you mean lci.native.calls?");
  }

  @ParameterizedTest
  @CsvSource({
    "local, local",
    "help, help:1000",
    "HELP:250, help:250",
    "random, random:64",
    "global, global:64",
  })
  void aStrategyOfProgressIsTold(String text, String meaning) {
    properties.setProperty("lci.loops", "2");
    properties.setProperty("lci.progress", text);
    assertThat(resolve(LciOptions.defaults(), Map.of()).progress()).hasToString(meaning);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "local:1", "help:", "help:0", "random:0", "global:-1", "random:1:2"})
  void noStrategyOfProgress(String text) {
    assertThat(refusal(Map.of("LCI_ATTR_PROGRESS", text))).contains("LCI_ATTR_PROGRESS");
  }

  @ParameterizedTest
  @EnumSource
  void aBadValueNamesItsSource(Option option) {
    assertThat(refusal(Map.of(option.variable(), "few"))).contains(option.variable(), "'few'");
    properties.setProperty(option.property(), "few");
    assertThat(refusal(Map.of())).contains(option.property(), "'few'");
  }

  @Test
  void aValueOutOfRangeIsRefusedAsAnyOther() {
    assertThat(refusal(Map.of("LCI_ATTR_LOOPS", "129")))
        .contains("LCI_ATTR_LOOPS", "1..128", "129");
    properties.setProperty("lci.close_timeout_ms", "-1");
    assertThat(refusal(Map.of())).contains("lci.close_timeout_ms", "negative");
  }

  @Test
  void everyOptionIsKnown() {
    assertThat(OptionSources.ownNames())
        .containsExactlyInAnyOrderElementsOf(
            Arrays.stream(Option.values()).map(o -> o.name().toLowerCase(Locale.ROOT)).toList());
  }

  @Test
  void onlyANearNameIsSuggested() {
    properties.setProperty("lci.lops", "2");
    assertThat(refusal(Map.of())).contains("lci.lops", "did you mean lci.loops?");
    properties.clear();
    properties.setProperty("lci.shape", "2"); // "chaos" is the nearest, and helps nobody
    assertThat(refusal(Map.of())).contains("lci.shape").doesNotContain("chaos", "did you mean");
  }

  @Test
  void anAttributeOfTheCoreComesByBuilderOrProperty() {
    LciOptions built = LciOptions.builder().attribute("packets", "1").build();
    properties.setProperty("lci.packets", "2");
    assertThat(resolve(LciOptions.defaults(), Map.of()).attributes()).containsEntry("packets", "2");
    assertThat(resolve(built, Map.of()).attributes()).containsEntry("packets", "1");
    assertThatThrownBy(
            () -> resolve(LciOptions.builder().attribute("packet", "1").build(), Map.of()))
        .isInstanceOf(LciException.class)
        .hasMessageContaining("did you mean packets?");
  }

  @Test
  void devicesAreTheLibrarysToo() {
    assertThat(resolve(LciOptions.builder().loops(2).build(), Map.of()).devices()).isEqualTo(2);
    properties.setProperty("lci.devices", "3");
    assertThat(resolve(LciOptions.defaults(), Map.of()).devices()).isEqualTo(3);
    LciOptions given = LciOptions.builder().attribute("devices", "2").build();
    assertThatThrownBy(() -> resolve(given, Map.of()))
        .hasMessageContaining("devices is an option of its own");
    LciOptions tooFew = LciOptions.builder().loops(3).devices(2).build();
    assertThatThrownBy(() -> resolve(tooFew, Map.of()))
        .isInstanceOf(LciException.class)
        .hasMessageContaining("3 loops, 2 devices");
  }

  @Test
  void affinityNamesACpuForEachLoop() {
    properties.setProperty("lci.affinity", "1, 0");
    LciOptions two = LciOptions.builder().loops(2).build();
    assertThat(resolve(two, Map.of()).affinity()).containsExactly(1, 0);
    assertThatThrownBy(() -> resolve(LciOptions.defaults(), Map.of()))
        .hasMessageContaining("1 loops, not 2");
    LciOptions driven = two.mutate().invoker(true).build();
    assertThatThrownBy(() -> resolve(driven, Map.of())).hasMessageContaining("invoker");
    properties.setProperty("lci.affinity", "-1");
    assertThat(refusal(Map.of())).contains("affinity must be in 0..");
  }

  @Test
  void idleStrategiesHaveNames() {
    assertThat(resolve(LciOptions.defaults(), Map.of()).idle()).isEqualTo(IdleStrategy.backoff());
    assertThat(resolve(LciOptions.defaults(), Map.of("LCI_ATTR_IDLE", "busy_spin")).idle())
        .isSameAs(IdleStrategy.busySpin());
    LciOptions chosen = LciOptions.builder().idleSpins(5).build();
    assertThat(resolve(chosen, Map.of("LCI_ATTR_IDLE", "parking")).idle())
        .isEqualTo(IdleStrategy.backoff(5, LciOptions.DEFAULT_IDLE_YIELDS));
    assertThat(refusal(Map.of("LCI_ATTR_IDLE", "sleepy")))
        .contains("backoff, yielding, busy_spin or parking");
  }

  @Test
  void anOptionGivenAsAnAttributeIsRefused() {
    LciOptions given = LciOptions.builder().attribute("max_posted", "2").build();
    assertThatThrownBy(() -> resolve(given, Map.of()))
        .hasMessageContaining("max_posted is an option of its own");
  }
}
