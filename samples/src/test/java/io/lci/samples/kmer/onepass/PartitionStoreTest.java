/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.kmer.common.KmerShape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The end of a store while it is in use: a job that fails cancels what writes and reads. */
class PartitionStoreTest {
  private static final KmerShape SHAPE = new KmerShape(31, true);

  @TempDir Path folder;
  private PartitionStore store;

  @BeforeEach
  void fill() {
    store = new PartitionStore(new Partitions(1, 1), 0, 1, folder);
    byte[] bases = new byte[2048];
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      bases[i] = (byte) random.nextInt(4);
    }
    PartitionWriter writer = new PartitionWriter(SHAPE, 1, store::add);
    writer.fragment(bases, 1000);
    writer.finish();
  }

  @AfterEach
  void close() {
    store.close();
  }

  private boolean isFileOpen() throws IOException {
    try (var open = Files.list(Path.of("/proc/self/fd"))) {
      return open.anyMatch(this::isOfFolder);
    }
  }

  private boolean isOfFolder(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).startsWith(folder.toRealPath());
    } catch (IOException closedMeanwhile) {
      return false;
    }
  }

  private long count() {
    return new PartitionCounter(SHAPE).count(0, List.of(store));
  }

  @Test
  void whatWasSpilledIsRead() throws IOException {
    store.spill();
    assertThat(isFileOpen()).isTrue();
    assertThat(folder).isEmptyDirectory();
    assertThat(count()).isEqualTo(970);
    store.close();
    assertThat(isFileOpen()).isFalse();
  }

  @Test
  void aSpillThatIsInterruptedLeavesNothingOpen() throws IOException {
    Thread.currentThread().interrupt();
    store.spill();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(isFileOpen()).isFalse();
    assertThat(folder).isEmptyDirectory();
  }

  /** As where the job ended between two blocks. */
  @Test
  void aSpillAfterTheEndOpensNothing() throws IOException {
    store.close();
    store.spill();
    assertThat(isFileOpen()).isFalse();
  }

  @Test
  void whatIsClosedIsNotCounted() {
    store.spill();
    store.close();
    assertThatThrownBy(this::count).isInstanceOf(CancellationException.class);
  }

  /** So that no result lacks what an interrupt kept from the file. */
  @Test
  void whatWasInterruptedIsNotCounted() {
    store.spill();
    fill(store);
    Thread.currentThread().interrupt();
    store.spill();
    assertThat(Thread.interrupted()).isTrue();
    assertThatThrownBy(this::count).isInstanceOf(CancellationException.class);
  }

  private static void fill(PartitionStore store) {
    PartitionWriter writer = new PartitionWriter(SHAPE, 1, store::add);
    writer.fragment(new byte[2048], 100);
    writer.finish();
  }
}
