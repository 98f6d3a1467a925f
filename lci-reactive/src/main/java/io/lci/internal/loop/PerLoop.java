/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.List;

/**
 * One of a kind for each loop of a runtime, found by the loop or by a device that it serves. Any
 * thread.
 */
public final class PerLoop<T> {
  private final List<T> all;

  /** By device, the index of the loop that serves it. */
  private final int[] homes;

  public PerLoop(List<T> all, int[] homes) {
    this.all = List.copyOf(all);
    this.homes = homes;
  }

  public List<T> all() {
    return all;
  }

  public T get(int loop) {
    if (loop < 0 || loop >= all.size()) {
      throw new IllegalArgumentException(
          "this runtime has loops 0 to " + (all.size() - 1) + ": " + loop);
    }
    return all.get(loop);
  }

  /** That of the loop that serves a device. */
  public T of(int device) {
    if (device < 0 || device >= homes.length) {
      throw new IllegalArgumentException(
          "this runtime has devices 0 to " + (homes.length - 1) + ": " + device);
    }
    return all.get(homes[device]);
  }
}
