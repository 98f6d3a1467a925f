/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciOptions;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Completes options from their other sources. Precedence: builder, system property {@code
 * lci.<name>}, environment {@code LCI_ATTR_<NAME>}, default.
 */
final class OptionSources {
  private static final String PREFIX = "lci.";
  private static final String ENVIRONMENT_PREFIX = "LCI_ATTR_";

  /** Options of this library; the core does not know them. */
  private static final Set<String> OWN =
      Set.of(
          "loops",
          "invoker",
          "idle_spins",
          "idle_yields",
          "max_posted",
          "max_parked",
          "close_timeout_ms",
          "stall_warning_ms");

  /** Read by other parts: the loader, and tests. */
  private static final List<String> FOREIGN = List.of("native.", "test.");

  private final Set<String> attributes;
  private final Properties properties;
  private final Map<String, String> environment;

  /**
   * Sources.
   *
   * @param attributes names the core knows
   */
  OptionSources(Set<String> attributes, Properties properties, Map<String, String> environment) {
    this.attributes = attributes;
    this.properties = properties;
    this.environment = environment;
  }

  /** The options with every source applied; attributes hold what must be set on the core. */
  LciOptions resolve(LciOptions options) {
    refuseUnknown(options);
    LciOptions.Builder result = options.mutate();
    String value;
    if ((value = lookUp(options, "loops")) != null) {
      result.loops(number("loops", value));
    }
    if ((value = lookUp(options, "invoker")) != null) {
      result.invoker(truth("invoker", value));
    }
    if ((value = lookUp(options, "idle_spins")) != null) {
      result.idleSpins(number("idle_spins", value));
    }
    if ((value = lookUp(options, "idle_yields")) != null) {
      result.idleYields(number("idle_yields", value));
    }
    if ((value = lookUp(options, "max_posted")) != null) {
      result.maxPosted(number("max_posted", value));
    }
    if ((value = lookUp(options, "max_parked")) != null) {
      result.maxParked(number("max_parked", value));
    }
    if ((value = lookUp(options, "close_timeout_ms")) != null) {
      result.closeTimeout(Duration.ofMillis(number("close_timeout_ms", value)));
    }
    if ((value = lookUp(options, "stall_warning_ms")) != null) {
      result.stallWarning(Duration.ofMillis(number("stall_warning_ms", value)));
    }
    for (String name : attributes) {
      // The core reads the environment itself, after what is set here.
      String property = properties.getProperty(PREFIX + name);
      if (property != null && !options.isSet(name)) {
        result.attribute(name, property);
      }
    }
    return result.build();
  }

  private @Nullable String lookUp(LciOptions options, String name) {
    if (options.isSet(name)) {
      return null;
    }
    String property = properties.getProperty(PREFIX + name);
    return property != null
        ? property
        : environment.get(ENVIRONMENT_PREFIX + name.toUpperCase(Locale.ROOT));
  }

  private void refuseUnknown(LciOptions options) {
    List<String> given = new ArrayList<>(options.attributes().keySet());
    for (String name : given) {
      if (!attributes.contains(name)) {
        throw unknown("attribute " + name, name);
      }
    }
    for (String key : properties.stringPropertyNames()) {
      if (!key.startsWith(PREFIX)) {
        continue;
      }
      String name = key.substring(PREFIX.length());
      if (!OWN.contains(name)
          && !attributes.contains(name)
          && FOREIGN.stream().noneMatch(name::startsWith)) {
        throw unknown("system property " + key, name);
      }
    }
  }

  private LciException unknown(String what, String name) {
    Set<String> known = new TreeSet<>(attributes);
    known.addAll(OWN);
    known.add("native.path");
    known.add("native.dir");
    String nearest = "";
    int best = Integer.MAX_VALUE;
    for (String candidate : known) {
      int distance = distance(name, candidate);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return new LciException(
        Detail.of(
            "options",
            "error_attribute",
            "unknown " + what + "; the nearest known name is " + PREFIX + nearest));
  }

  private static int number(String name, String text) {
    try {
      return Integer.parseInt(text.trim());
    } catch (NumberFormatException e) {
      throw bad(name, text, "a whole number", e);
    }
  }

  private static boolean truth(String name, String text) {
    return switch (text.trim().toLowerCase(Locale.ROOT)) {
      case "true", "1" -> true;
      case "false", "0" -> false;
      default -> throw bad(name, text, "true or false", null);
    };
  }

  private static LciException bad(
      String name, String text, String wanted, @Nullable Exception cause) {
    LciException e =
        new LciException(
            Detail.of(
                "options",
                "error_attribute",
                PREFIX + name + " must be " + wanted + ", not '" + text + "'"));
    if (cause != null) {
      e.initCause(cause);
    }
    return e;
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
