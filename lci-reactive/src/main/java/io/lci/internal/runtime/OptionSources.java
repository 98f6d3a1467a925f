/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import static java.util.Map.entry;

import io.lci.IdleStrategy;
import io.lci.LciOptions;
import io.lci.ProgressStrategy;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreLog;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/**
 * Completes options from their other sources. Precedence: builder, system property {@code
 * lci.<name>}, environment {@code LCI_ATTR_<NAME>}, default.
 */
public final class OptionSources {
  private static final String PREFIX = "lci.";
  private static final String ENVIRONMENT_PREFIX = "LCI_ATTR_";

  /** Options of this library, which the core does not know, and how each is set from text. */
  private static final Map<String, BiConsumer<LciOptions.Builder, String>> OWN =
      Map.ofEntries(
          entry("loops", (result, text) -> result.loops(number(text))),
          entry("devices", (result, text) -> result.devices(number(text))),
          entry("invoker", (result, text) -> result.invoker(truth(text))),
          entry("idle", OptionSources::idle),
          entry("idle_spins", (result, text) -> result.idleSpins(number(text))),
          entry("idle_yields", (result, text) -> result.idleYields(number(text))),
          entry("progress", (result, text) -> result.progress(progress(text))),
          entry("affinity", (result, text) -> result.affinity(numbers(text))),
          entry("max_posted", (result, text) -> result.maxPosted(number(text))),
          entry("max_parked", (result, text) -> result.maxParked(number(text))),
          entry("max_receive_bytes", (result, text) -> result.maxReceiveBytes(number(text))),
          entry("close_timeout_ms", (result, text) -> result.closeTimeout(millis(text))),
          entry("stall_warning_ms", (result, text) -> result.stallWarning(millis(text))),
          entry("blocked_warning_ms", (result, text) -> result.blockedWarning(millis(text))));

  /**
   * Where this library's defaults differ from the core's: its log goes to slf4j, see {@link
   * CoreLog}. The core reads these from two variables, the second without this prefix.
   */
  private static final Map<String, String> DEFAULTS =
      Map.of("log_outfile", "none", "log_keep", "1024");

  /** Read by the loader. */
  private static final Set<String> LOADER =
      Set.of("native.path", "native.dir", "native.tmpdir", "native.calls");

  /** Options of the build, which hands them on to the tests that it runs. */
  private static final Set<String> BUILD =
      Set.of(
          "native.build",
          "native.ffm.jdk",
          "native.jobs",
          "native.skip",
          "native.source",
          "native.test.build",
          "native.test.skip");

  /** Read by tests. */
  private static final String OF_TESTS = "test.";

  private final Set<String> attributes;
  private final Properties properties;
  private final Map<String, String> environment;

  /**
   * Sources.
   *
   * @param attributes names the core knows
   */
  public OptionSources(
      Set<String> attributes, Properties properties, Map<String, String> environment) {
    this.attributes = attributes;
    this.properties = properties;
    this.environment = environment;
  }

  /** Names of the options that are this library's own. */
  public static Set<String> ownNames() {
    return OWN.keySet();
  }

  /** The options with every source applied; attributes hold what must be set on the core. */
  public LciOptions resolve(LciOptions options) {
    refuseUnknown(options);
    LciOptions.Builder result = options.mutate();
    OWN.forEach((name, setter) -> apply(options, name, setter, result));
    for (String name : attributes) {
      // The core reads the environment itself, after what is set here.
      String property = OWN.containsKey(name) ? null : properties.getProperty(PREFIX + name);
      if (property != null && !options.isSet(name)) {
        result.attribute(name, property);
      }
    }
    DEFAULTS.forEach(
        (name, value) -> {
          if (!isGiven(options, name)) {
            result.attribute(name, value);
          }
        });
    return checked(result.build());
  }

  private static LciOptions checked(LciOptions options) {
    if (options.devices() < options.loops()) {
      throw error(
          "each loop needs a device: "
              + options.loops()
              + " loops, "
              + options.devices()
              + " devices");
    }
    if (options.progress().kind() == ProgressStrategy.Kind.HELP && options.loops() == 1) {
      throw error("progress=help needs a loop that helps another: set loops to 2 or more");
    }
    int bound = options.affinity().size();
    if (bound != 0 && bound != options.loops()) {
      throw error(
          "affinity has an offset for each loop: " + options.loops() + " loops, not " + bound);
    }
    if (bound != 0 && options.invoker()) {
      throw error("affinity is for loops with a thread of their own, not for invoker loops");
    }
    return options;
  }

  private boolean isGiven(LciOptions options, String name) {
    String variable = name.toUpperCase(Locale.ROOT);
    return options.isSet(name)
        || properties.getProperty(PREFIX + name) != null
        || environment.containsKey(ENVIRONMENT_PREFIX + variable)
        || environment.containsKey("LCI_" + variable);
  }

  private void apply(
      LciOptions options,
      String name,
      BiConsumer<LciOptions.Builder, String> setter,
      LciOptions.Builder result) {
    if (options.isSet(name)) {
      return;
    }
    String source = PREFIX + name;
    String text = properties.getProperty(source);
    if (text == null) {
      source = ENVIRONMENT_PREFIX + name.toUpperCase(Locale.ROOT);
      text = environment.get(source);
    }
    if (text == null) {
      return;
    }
    try {
      setter.accept(result, text);
    } catch (IllegalArgumentException e) {
      throw error(source + " cannot be '" + text + "': " + e.getMessage());
    }
  }

  private void refuseUnknown(LciOptions options) {
    for (String name : options.attributes().keySet()) {
      if (OWN.containsKey(name)) {
        throw error(name + " is an option of its own, not an attribute: the builder has a setter");
      }
      if (!attributes.contains(name)) {
        throw unknown("attribute " + name, nearName(name, attributes));
      }
    }
    for (String key : properties.stringPropertyNames()) {
      if (!key.startsWith(PREFIX)) {
        continue;
      }
      String name = key.substring(PREFIX.length());
      if (!OWN.containsKey(name)
          && !attributes.contains(name)
          && !LOADER.contains(name)
          && !BUILD.contains(name)
          && !name.startsWith(OF_TESTS)) {
        String near = nearName(name, ofProperties());
        throw unknown("system property " + key, near.isEmpty() ? near : PREFIX + near);
      }
    }
  }

  private static LciException unknown(String what, String near) {
    return error(
        "unknown "
            + what
            + (near.isEmpty()
                ? "; the documentation of LciOptions lists the names"
                : "; did you mean " + near + "?"));
  }

  private Set<String> ofProperties() {
    Set<String> names = new TreeSet<>(attributes);
    names.addAll(OWN.keySet());
    names.addAll(LOADER);
    return names;
  }

  /** The known name that this one may be a misspelling of: at most a third of it differs. */
  private static String nearName(String name, Set<String> known) {
    String best = "";
    int least = Integer.MAX_VALUE;
    for (String candidate : known) {
      int distance = distance(name, candidate);
      if (distance < least && distance * 3 <= Math.max(name.length(), candidate.length())) {
        least = distance;
        best = candidate;
      }
    }
    return best;
  }

  private static int number(String text) {
    try {
      return Integer.parseInt(text.trim());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it must be a whole number", e);
    }
  }

  private static int[] numbers(String text) {
    return text.isBlank()
        ? new int[0]
        : Arrays.stream(text.split(",")).mapToInt(OptionSources::number).toArray();
  }

  private static void idle(LciOptions.Builder result, String text) {
    switch (text.trim().toLowerCase(Locale.ROOT)) {
      case "backoff" -> {} // the default, with its spins and yields
      case "busy_spin" -> result.idle(IdleStrategy.busySpin());
      case "yielding" -> result.idle(IdleStrategy.yielding());
      case "parking" -> result.idle(IdleStrategy.parking());
      default ->
          throw new IllegalArgumentException("it must be backoff, yielding, busy_spin or parking");
    }
  }

  private static ProgressStrategy progress(String text) {
    String[] parts = text.trim().toLowerCase(Locale.ROOT).split(":", 2);
    boolean alone = parts.length == 1;
    return switch (parts[0]) {
      case "local" -> {
        if (!alone) {
          throw new IllegalArgumentException("local has no number");
        }
        yield ProgressStrategy.local();
      }
      case "help" ->
          alone
              ? ProgressStrategy.help()
              : ProgressStrategy.help(Duration.ofNanos(1000L * number(parts[1])));
      case "random" -> ProgressStrategy.random(turns(parts));
      case "global" -> ProgressStrategy.global(turns(parts));
      default ->
          throw new IllegalArgumentException(
              "it must be local, help, random or global, the last three alone or with : and a"
                  + " number");
    };
  }

  private static int turns(String[] parts) {
    return parts.length == 1 ? ProgressStrategy.DEFAULT_EVERY_TURNS : number(parts[1]);
  }

  private static Duration millis(String text) {
    return Duration.ofMillis(number(text));
  }

  private static boolean truth(String text) {
    return switch (text.trim().toLowerCase(Locale.ROOT)) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw new IllegalArgumentException("it must be true or false");
    };
  }

  private static LciException error(String hint) {
    return new LciException(Detail.of("options", "error_attribute", hint));
  }

  /** Levenshtein distance. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
