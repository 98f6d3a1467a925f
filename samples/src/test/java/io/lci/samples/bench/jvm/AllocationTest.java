/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** What is garbage of a message must not be less because somebody's thread ended. */
class AllocationTest {
  private static final int BYTES = 1 << 20;

  @Test
  void aThreadThatEndsTakesNothingAway() throws InterruptedException {
    Allocation allocation = new Allocation();
    CountDownLatch allocated = new CountDownLatch(1);
    CountDownLatch looked = new CountDownLatch(1);
    byte[][] kept = new byte[1][];
    Thread thread =
        new Thread(
            () -> {
              kept[0] = new byte[BYTES];
              allocated.countDown();
              try {
                looked.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    long before = allocation.bytes();
    thread.start();
    allocated.await();
    long with = allocation.bytes();
    assertThat(with - before).isGreaterThanOrEqualTo(BYTES);
    looked.countDown();
    thread.join();
    assertThat(allocation.bytes()).isGreaterThanOrEqualTo(with);
    assertThat(kept[0]).hasSize(BYTES);
  }
}
