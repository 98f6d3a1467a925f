/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.kmer.ReferenceCount;
import io.lci.samples.kmer.common.KmerShape;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** From fragments to counts without any rank, against strings in a map. */
class PartitionsTest {
  private static final long MUCH = Long.MAX_VALUE;
  private static final int COUNT = 10;

  @TempDir Path folder;

  /** Stores of all ranks, filled with the blocks of one reader. */
  private List<PartitionStore> fill(KmerShape shape, List<byte[]> fragments, int ranks, long most) {
    Partitions partitions = new Partitions(COUNT, ranks);
    List<PartitionStore> stores =
        IntStream.range(0, ranks)
            .mapToObj(rank -> new PartitionStore(partitions, rank, most, folder))
            .toList();
    PartitionWriter writer =
        new PartitionWriter(
            shape,
            COUNT,
            block -> {
              PartitionStore store = stores.get(partitions.owner(block.partition()));
              store.add(block);
              if (store.isFull()) {
                store.spill();
              }
            });
    fragments.forEach(codes -> writer.fragment(Arrays.copyOf(codes, 2048), codes.length));
    writer.finish();
    return stores;
  }

  /** Each k-mer is in one partition alone. */
  private static Map<String, Long> count(KmerShape shape, List<PartitionStore> stores) {
    Map<String, Long> all = Model.empty();
    PartitionCounter counter = new PartitionCounter(shape);
    long kmers = 0;
    for (int rank = 0; rank < stores.size(); rank++) {
      for (int place = 0; place < new Partitions(COUNT, stores.size()).of(rank); place++) {
        kmers += counter.count(place, List.of(stores.get(rank)));
        Map<String, Long> some = Model.empty();
        Model.addTo(some, counter, shape.k());
        for (Map.Entry<String, Long> entry : some.entrySet()) {
          assertThat(all.put(entry.getKey(), entry.getValue())).as(entry.getKey()).isNull();
        }
      }
    }
    assertThat(kmers).isEqualTo(all.values().stream().mapToLong(Long::longValue).sum());
    return all;
  }

  @ParameterizedTest
  @CsvSource({
    "1,true", "2,false", "3,true", "11,true", "12,false", "16,true", "27,true", "28,false",
    "29,true", "31,true", "31,false", "32,true", "32,false", "33,true", "33,false", "34,true",
    "48,false", "62,true", "63,true", "63,false"
  })
  void allKmersAreCountedOnceAndInOnePartition(int k, boolean canonical) {
    KmerShape shape = new KmerShape(k, canonical);
    List<byte[]> fragments = Model.sequences(60, 400, k);
    List<PartitionStore> stores = fill(shape, fragments, 3, MUCH);
    List<String> letters = fragments.stream().map(Model::letters).toList();
    assertThat(count(shape, stores)).isEqualTo(ReferenceCount.count(letters, k, canonical));
  }

  /** A run of one minimizer is longer than its byte can say. */
  @ParameterizedTest
  @ValueSource(ints = {1, 31, 51})
  void longRunsAreCut(int k) {
    KmerShape shape = new KmerShape(k, true);
    List<byte[]> fragments = List.of(new byte[2048], new byte[k + 254], new byte[k + 255]);
    List<String> letters = fragments.stream().map(Model::letters).toList();
    Map<String, Long> counts = count(shape, fill(shape, fragments, 2, MUCH));
    assertThat(counts).isEqualTo(ReferenceCount.count(letters, k, true)).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"1", "10000", "60000"})
  void whatMemoryHasNoRoomForIsReadFromTheFile(long most) throws IOException {
    KmerShape shape = new KmerShape(31, true);
    List<byte[]> fragments = Model.sequences(300, 2000, 4);
    List<PartitionStore> stores = fill(shape, fragments, 2, most);
    assertThat(stores).allSatisfy(store -> assertThat(store.spilled()).isPositive());
    List<String> letters = fragments.stream().map(Model::letters).toList();
    assertThat(count(shape, stores)).isEqualTo(ReferenceCount.count(letters, 31, true));
    try (var files = Files.list(folder)) {
      assertThat(files).as("a killed rank leaves nothing").isEmpty();
    }
    stores.forEach(PartitionStore::close);
  }

  @Test
  void memoryIsBounded() {
    Partitions partitions = new Partitions(1, 1);
    PartitionStore store = new PartitionStore(partitions, 0, 10_000, folder);
    Block block = new Block(0, 4000);
    store.add(block);
    store.add(block);
    assertThat(store.isFull()).isFalse();
    store.add(block);
    assertThat(store.isFull()).isTrue();
    store.spill();
    assertThat(store.isFull()).isFalse();
    store.close();
  }

  @Test
  void aSpillThatFailsNamesItsFolder() {
    Path none = folder.resolve("none");
    PartitionStore store = new PartitionStore(new Partitions(1, 1), 0, 1, none);
    store.add(new Block(0, 10));
    assertThatThrownBy(store::spill).hasMessageContaining(none.toString());
  }

  @Test
  void blocksOfOthersAndDamagedOnesAreRefused() {
    Partitions partitions = new Partitions(4, 2);
    PartitionStore store = new PartitionStore(partitions, 1, MUCH, folder);
    for (int partition : new int[] {-1, 0, 2, 4, 5}) {
      assertThatThrownBy(() -> store.add(new Block(partition, 10)))
          .hasMessageContaining("partition " + partition);
    }
    Block tooMany = new Block(1, 100);
    tooMany.append(new byte[100], 0, 40, 100_000);
    assertThatThrownBy(() -> store.add(tooMany)).hasMessageContaining("100000 k-mers");
    KmerShape shape = new KmerShape(31, true);
    Block tooFew = new Block(1, 100);
    tooFew.append(new byte[100], 0, 40, 20); // it has 10
    store.add(tooFew);
    PartitionCounter counter = new PartitionCounter(shape);
    assertThatThrownBy(() -> counter.count(0, List.of(store))).hasMessageContaining("damaged");
  }

  @Test
  void everyPartitionHasOneOwnerAndAPlace() {
    for (int ranks = 1; ranks <= 7; ranks++) {
      Partitions partitions = new Partitions(64, ranks);
      Set<String> places = new HashSet<>();
      for (int partition = 0; partition < 64; partition++) {
        int owner = partitions.owner(partition);
        assertThat(partitions.place(partition)).isLessThan(partitions.of(owner));
        places.add(owner + "/" + partitions.place(partition));
      }
      assertThat(places).hasSize(64);
      assertThat(IntStream.range(0, ranks).map(partitions::of).sum()).isEqualTo(64);
    }
  }

  @Test
  void thereAreMorePartitionsForMoreReads() {
    assertThat(Partitions.countFor(0)).isEqualTo(64);
    assertThat(Partitions.countFor(200 << 20)).isEqualTo(800);
    assertThat(Partitions.countFor(1L << 40)).isEqualTo(4096);
  }

  @Test
  void blocksAreFilledAndSmallOnesTrimmed() {
    List<Block> blocks = new ArrayList<>();
    PartitionWriter writer = new PartitionWriter(new KmerShape(31, true), 4, blocks::add);
    for (byte[] codes : Model.sequences(400, 2000, 1)) {
      writer.fragment(Arrays.copyOf(codes, 2048), codes.length);
    }
    int full = blocks.size();
    writer.finish();
    assertThat(full).isGreaterThan(10);
    assertThat(blocks.subList(0, full))
        .allSatisfy(block -> assertThat(block.length()).isGreaterThan(3900));
    assertThat(blocks.subList(full, blocks.size()))
        .hasSizeLessThanOrEqualTo(4)
        .allSatisfy(block -> assertThat(block.footprint()).isLessThan(block.length() + 9));
    assertThat(blocks.stream().mapToLong(Block::kmers).sum()).isEqualTo(writer.kmers());
  }
}
