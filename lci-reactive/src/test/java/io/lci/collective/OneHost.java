/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.LciOptions;

/** Where the ranks of a test are, whatever its environment says. */
final class OneHost {
  private OneHost() {}

  /** All on one, where they read each other's memory. */
  static LciOptions options() {
    return LciOptions.builder()
        .attribute("transport", "auto")
        .attribute("ranks_per_host", "0")
        .attribute("peer_memory", "all")
        .build();
  }

  /** As if no more than two were on one. */
  static LciOptions twoToAHost() {
    return LciOptions.builder()
        .attribute("transport", "auto")
        .attribute("ranks_per_host", "2")
        .build();
  }
}
