/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.error.MemoryClosedException;
import io.lci.error.PeerLeftException;
import io.lci.samples.EachRank;
import io.lci.samples.kv.KvTable.Stored;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

@ExtendWith(LciLeakCheck.class)
class KvNodeTest {
  private static final Duration LIMIT = EachRank.LIMIT;
  private static final int RANKS = 3;

  private static List<KvNode> nodes(LciTestJob job, int slots) {
    return EachRank.run(job, lci -> KvNode.join(lci, new Placement(job.size(), slots, 512)));
  }

  private static byte[] value(String text) {
    return text.getBytes(UTF_8);
  }

  private static String text(Entry entry) {
    return new String(entry.value(), UTF_8);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void everyRankReadsWhatAnyRankWrote(boolean chaos) {
    try (LciTestJob job = LciTestJob.start(RANKS, EachRank.options(chaos).build())) {
      List<KvNode> nodes = nodes(job, 1024);
      for (int i = 0; i < 100; i++) {
        String key = "key " + i;
        Stored stored = nodes.get(i % RANKS).put(key, value("value " + i)).block(LIMIT);
        assertThat(stored.created()).isTrue();
        Entry read = nodes.get((i + 1) % RANKS).get(key).block(LIMIT);
        assertThat(text(read)).isEqualTo("value " + i);
        assertThat(read.version()).isEqualTo(stored.version());
      }
      assertThat(nodes.stream().mapToInt(KvNode::size)).allMatch(size -> size > 10);
      assertThat(nodes.get(0).get("another key").blockOptional(LIMIT)).isEmpty();
    }
  }

  @Test
  void aKeyIsReplacedRemovedAndWrittenAgain() {
    try (LciTestJob job = LciTestJob.start(RANKS)) {
      List<KvNode> nodes = nodes(job, 64);
      Stored first = nodes.get(0).put("k", value("one")).block(LIMIT);
      Stored second = nodes.get(1).put("k", value("two, longer")).block(LIMIT);
      assertThat(second.created()).isFalse();
      assertThat(second.version()).isGreaterThan(first.version());
      assertThat(text(nodes.get(2).get("k").block(LIMIT))).isEqualTo("two, longer");
      assertThat(nodes.get(2).remove("k").block(LIMIT)).isGreaterThan(second.version());
      assertThat(nodes.get(0).remove("k").blockOptional(LIMIT)).isEmpty();
      assertThat(nodes.get(0).get("k").blockOptional(LIMIT)).isEmpty();
      assertThat(nodes.get(0).put("k", value("three")).block(LIMIT).created()).isTrue();
      assertThat(text(nodes.get(1).get("k").block(LIMIT))).isEqualTo("three");
    }
  }

  /** Keys that begin at the same slot are found behind each other, also when one before is gone. */
  @Test
  void keysThatShareASlotAreAllFound() {
    try (LciTestJob job = LciTestJob.start(1)) {
      KvNode node = nodes(job, 1).get(0);
      for (int i = 0; i < Placement.PROBES; i++) {
        node.put("k" + i, value("v" + i)).block(LIMIT);
      }
      assertThatThrownBy(() -> node.put("one more", value("v")).block(LIMIT))
          .isInstanceOf(TableFullException.class)
          .hasMessageContaining("one more");
      node.remove("k3").block(LIMIT);
      for (int i = 4; i < Placement.PROBES; i++) {
        assertThat(text(node.get("k" + i).block(LIMIT))).isEqualTo("v" + i);
      }
      assertThat(node.put("one more", value("w")).block(LIMIT).created()).isTrue();
      assertThat(text(node.get("one more").block(LIMIT))).isEqualTo("w");
    }
  }

  @Test
  void aScanIsSortedAndCompleteAndGoesAsFastAsItsReader() {
    try (LciTestJob job = LciTestJob.start(RANKS)) {
      List<KvNode> nodes = nodes(job, 1024);
      TreeMap<String, String> written = new TreeMap<>();
      for (int i = 0; i < 300; i++) {
        String key = (i % 3 == 0 ? "b/" : "a/") + Integer.toHexString(i * 0x9E37);
        written.put(key, "value " + i);
        nodes.get(0).put(key, value("value " + i)).block(LIMIT);
      }
      TreeMap<String, String> expected = new TreeMap<>(written.subMap("a/", "b/"));
      List<String> keys = new ArrayList<>();
      nodes
          .get(1)
          .scan("a/")
          .limitRate(2)
          .doOnNext(entry -> assertThat(text(entry)).isEqualTo(expected.get(entry.key())))
          .map(Entry::key)
          .doOnNext(keys::add)
          .blockLast(LIMIT);
      assertThat(keys).containsExactlyElementsOf(expected.keySet());
      assertThat(nodes.get(2).scan("").count().block(LIMIT)).isEqualTo(300);
      assertThat(nodes.get(2).scan("c").count().block(LIMIT)).isZero();
      assertThat(nodes.get(2).scan("").take(5).count().block(LIMIT)).isEqualTo(5);
    }
  }

  /** What a reader sees is always one of the values that were written, and never an older one. */
  @Test
  void readersBesideAWriterSeeWholeValues() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<KvNode> nodes = nodes(job, 64);
      String key =
          IntStream.range(0, 100)
              .mapToObj(i -> "key " + i)
              .filter(k -> nodes.get(0).owner(k) == 0)
              .findFirst()
              .orElseThrow();
      nodes.get(0).put(key, new byte[400]).block(LIMIT);
      Mono<Void> writing =
          Flux.range(1, 2_000)
              .concatMap(
                  i -> {
                    byte[] value = new byte[300 + i % 100];
                    Arrays.fill(value, i.byteValue());
                    return nodes.get(0).put(key, value);
                  })
              .then();
      long[] newest = {0};
      Flux<Entry> reading =
          Flux.defer(() -> nodes.get(1).get(key))
              .repeat()
              .doOnNext(
                  entry -> {
                    assertThat(entry.version()).isGreaterThanOrEqualTo(newest[0]);
                    newest[0] = entry.version();
                    byte first = entry.value()[0];
                    for (byte b : entry.value()) {
                      assertThat(b).isEqualTo(first);
                    }
                  });
      Flux.merge(reading.then(Mono.<Long>empty()), writing.then(Mono.just(newest[0])))
          .next()
          .block(LIMIT);
      assertThat(newest[0]).isPositive();
    }
  }

  @Test
  void keysOfARankThatLeftAreGoneAndOthersStay() {
    try (LciTestJob job = LciTestJob.start(RANKS)) {
      List<KvNode> nodes = nodes(job, 1024);
      for (int i = 0; i < 30; i++) {
        nodes.get(0).put("key " + i, value("v")).block(LIMIT);
      }
      job.rank(2).close();
      int lost = 0;
      for (int i = 0; i < 30; i++) {
        String key = "key " + i;
        if (nodes.get(0).owner(key) == 2) {
          lost++;
          assertThatThrownBy(() -> nodes.get(0).get(key).block(LIMIT))
              .isInstanceOfAny(PeerLeftException.class, MemoryClosedException.class);
          assertThatThrownBy(() -> nodes.get(0).put(key, value("w")).block(LIMIT))
              .isInstanceOf(PeerLeftException.class);
        } else {
          assertThat(text(nodes.get(1).get(key).block(LIMIT))).isEqualTo("v");
          nodes.get(1).put(key, value("w")).block(LIMIT);
          assertThat(text(nodes.get(0).get(key).block(LIMIT))).isEqualTo("w");
        }
      }
      assertThat(lost).isPositive();
    }
  }
}
