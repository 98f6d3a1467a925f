/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import reactor.core.publisher.Hooks;

/** Hears what Reactor drops, where no subscriber has a context for that. */
public final class DroppedErrors implements AutoCloseable {
  public final List<Throwable> all = new CopyOnWriteArrayList<>();

  public DroppedErrors() {
    Hooks.resetOnErrorDropped(); // else those that listen hear it, too
    Hooks.onErrorDropped(all::add);
  }

  @Override
  public void close() {
    Hooks.resetOnErrorDropped();
  }
}
