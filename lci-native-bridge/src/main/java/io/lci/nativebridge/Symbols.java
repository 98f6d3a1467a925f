/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The names in C of the functions of {@link NativeCalls}. */
final class Symbols {

  /** Every library has it, and the loader calls it before anything is bound. */
  static final String LAYOUT = "lci_layout";

  private Symbols() {}

  /** {@code lci_lane_enter} for the method {@code laneEnter}. */
  static String of(Method method) {
    return "lci_" + method.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  /** The functions that a library must have, by their names. */
  static List<String> all() {
    return Arrays.stream(NativeCalls.class.getDeclaredMethods()).map(Symbols::of).sorted().toList();
  }
}
