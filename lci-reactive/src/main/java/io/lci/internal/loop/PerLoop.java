/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One of a kind for each loop of a runtime, found by the loop or by a device that it serves. It
 * grows with the runtime. Any thread.
 */
public final class PerLoop<T> {
  /**
   * @param homes by device, the index of the loop that serves it
   */
  private record Table<T>(List<T> all, int[] homes) {}

  private volatile Table<T> table;

  public PerLoop(List<T> all, int[] homes) {
    this.table = new Table<>(List.copyOf(all), homes);
  }

  public List<T> all() {
    return table.all;
  }

  /** How many devices the loops serve. */
  public int devices() {
    return table.homes.length;
  }

  public T get(int loop) {
    List<T> all = table.all;
    if (loop < 0 || loop >= all.size()) {
      throw new IllegalArgumentException(
          "this runtime has loops 0 to " + (all.size() - 1) + ": " + loop);
    }
    return all.get(loop);
  }

  /** That of the loop that serves a device. */
  public T of(int device) {
    Table<T> now = table;
    if (device < 0 || device >= now.homes.length) {
      throw new IllegalArgumentException(
          "this runtime has devices 0 to " + (now.homes.length - 1) + ": " + device);
    }
    return now.all.get(now.homes[device]);
  }

  /** That of the next loop, which serves the next device. One thread at a time. */
  public void add(T one) {
    Table<T> now = table;
    List<T> all = new ArrayList<>(now.all);
    all.add(one);
    int[] homes = Arrays.copyOf(now.homes, now.homes.length + 1);
    homes[homes.length - 1] = all.size() - 1;
    table = new Table<>(List.copyOf(all), homes);
  }

  /** Takes the last one out again, before anybody was told of it. One thread at a time. */
  public void removeLast() {
    Table<T> now = table;
    table =
        new Table<>(
            now.all.subList(0, now.all.size() - 1), Arrays.copyOf(now.homes, now.homes.length - 1));
  }
}
