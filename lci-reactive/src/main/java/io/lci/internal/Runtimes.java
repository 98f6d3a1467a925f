/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import reactor.core.publisher.Mono;

/** Creates runtimes. */
public final class Runtimes {
  private Runtimes() {}

  /** Joins the job that the environment names. */
  public static LciRuntime create(LciOptions options) {
    throw new UnsupportedOperationException("being written");
  }

  /** As {@link #create}, asynchronously. */
  public static Mono<LciRuntime> connect(LciOptions options) {
    return Mono.fromCallable(() -> create(options));
  }
}
