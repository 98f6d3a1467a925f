/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.kmer.ReferenceCount;
import io.lci.samples.kmer.common.Histogram;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.Kmers;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShardTest {
  @ParameterizedTest
  @CsvSource({
    "1,true",
    "1,false",
    "31,true",
    "31,false",
    "32,true",
    "32,false",
    "33,true",
    "33,false",
    "63,true",
    "63,false"
  })
  void kmersOfABlockAreThoseOfItsRuns(int k, boolean canonical) {
    Random random = new Random(k);
    KmerShape shape = new KmerShape(k, canonical);
    Map<String, Long> expected = new HashMap<>();
    Shard shard = new Shard(shape, new SeenFilter(1 << 16));
    byte[][] sequences = new byte[30][];
    for (int i = 0; i < sequences.length; i++) {
      sequences[i] = new byte[k + random.nextInt(150)];
      for (int j = 0; j < sequences[i].length; j++) {
        sequences[i][j] = (byte) random.nextInt(4);
      }
    }
    for (int pass = Shard.FILL; pass <= Shard.COUNT; pass++) {
      if (pass == Shard.COUNT) {
        shard.prepareCount();
      }
      // Twice, so that every k-mer comes again.
      process(shard, sequences, pass, k);
      process(shard, sequences, pass, k);
    }
    for (byte[] sequence : sequences) {
      ReferenceCount.count(java.util.List.of(letters(sequence)), k, canonical)
          .forEach((kmer, count) -> expected.merge(kmer, 2 * count, Long::sum));
    }
    Map<String, Long> counted = new HashMap<>();
    shard.table().forEach((high, low, count) -> counted.put(text(high, low, k), count));
    assertThat(counted).isEqualTo(expected);
  }

  @Test
  void tableGrowsAndKeepsItsCounts() {
    KmerShape shape = new KmerShape(31, false);
    Shard shard =
        new Shard(shape, new SeenFilter(64)); // a filter that soon answers yes to everything
    byte[] sequence = new byte[2000];
    Random random = new Random(1);
    for (int i = 0; i < sequence.length; i++) {
      sequence[i] = (byte) random.nextInt(4);
    }
    byte[][] one = {sequence};
    process(shard, one, Shard.FILL, 31);
    for (int i = 0; i < 5; i++) {
      process(shard, one, Shard.COUNT, 31);
    }
    assertThat(shard.table().size()).isEqualTo(2000 - 30);
    shard.table().forEach((high, low, count) -> assertThat(count).isEqualTo(5));
  }

  @Test
  void damagedBlocksAreRefused() {
    Shard shard = new Shard(new KmerShape(31, true), new SeenFilter(64));
    Block block = new Block();
    block.start(Shard.FILL, 0);
    block.append(new byte[40], 0, 40, 9); // it holds 10
    byte[] bytes = block.seal().bytes();
    assertThatThrownBy(() -> shard.process(bytes, block.length()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("announced are 9");
    assertThatThrownBy(() -> shard.process(bytes, block.length() - 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("damaged");
  }

  @Test
  void fullBlockRefusesARunAndStaysAsItIs() {
    Block block = new Block();
    block.start(Shard.FILL, 3);
    byte[] codes = new byte[2048];
    while (block.append(codes, 0, 2000, 1950)) {}
    int length = block.length();
    assertThat(length).isBetween(Block.CAPACITY - 502, Block.CAPACITY);
    assertThat(block.append(codes, 0, 2000, 1950)).isFalse();
    assertThat(block.length()).isEqualTo(length);
    assertThat(block.owner()).isEqualTo(3);
  }

  @Test
  void ledgerWaitsForEverySenderAndEveryKmer() {
    PassLedger ledger = new PassLedger(2);
    ledger.ended(10); // overtakes the data
    ledger.received(4);
    assertThat(ledger.isComplete()).isFalse();
    ledger.received(9);
    assertThat(ledger.isComplete()).isFalse();
    ledger.ended(3);
    assertThat(ledger.isComplete()).isTrue();
    ledger.received(1);
    assertThatThrownBy(ledger::isComplete).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void histogramFindsThoseThatOccurOnceByWhatIsLeft() {
    Histogram histogram = new Histogram();
    histogram.add(2, 10);
    histogram.add(5, 1);
    histogram.complete(32);
    assertThat(histogram.lines())
        .containsExactly(Map.entry(1L, 7L), Map.entry(2L, 10L), Map.entry(5L, 1L));
    assertThat(histogram.distinct()).isEqualTo(18);
    assertThatThrownBy(() -> histogram.complete(3)).isInstanceOf(IllegalStateException.class);
  }

  private static void process(Shard shard, byte[][] sequences, int pass, int k) {
    Block block = new Block();
    block.start(pass, 0);
    for (byte[] sequence : sequences) {
      assertThat(block.append(sequence, 0, sequence.length, sequence.length - k + 1)).isTrue();
    }
    shard.process(block.seal().bytes(), block.length());
  }

  private static String letters(byte[] codes) {
    StringBuilder text = new StringBuilder();
    for (byte code : codes) {
      text.append("ACGT".charAt(code));
    }
    return text.toString();
  }

  private static String text(long high, long low, int k) {
    StringBuilder text = new StringBuilder();
    Kmers.letters(high, low, k, text);
    return text.toString();
  }
}
