/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.error.TruncatedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Lists of buffers, there and here, as one operation. [C13] */
@ExtendWith(LciLeakCheck.class)
class BufferListTest {
  private static final Port DONE = Port.of(64, "list is there");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int[] SIZES = {0, 5, 8, 192, 1_000, 9_000, 70_000, 1};
  private static final int TOTAL = Arrays.stream(SIZES).sum();

  private static BufferList list(LciRuntime lci, int... sizes) {
    return LciBuffer.list(
        Arrays.stream(sizes).mapToObj(lci.memory()::buffer).toArray(LciBuffer[]::new));
  }

  /** A list of all sizes, filled with what follows from the seed. */
  private static BufferList filled(LciRuntime lci, int seed) {
    BufferList list = list(lci, SIZES);
    byte[] bytes = pattern(seed);
    int at = 0;
    for (LciBuffer part : list.parts()) {
      part.view().put(bytes, at, part.size());
      at += part.size();
    }
    return list;
  }

  private static byte[] pattern(int seed) {
    byte[] bytes = new byte[TOTAL];
    for (int i = 0; i < TOTAL; i++) {
      bytes[i] = (byte) (i * 31 + i / 251 + seed);
    }
    return bytes;
  }

  private static byte[] bytes(BufferList list) {
    byte[] bytes = new byte[list.size()];
    int at = 0;
    for (LciBuffer part : list.parts()) {
      part.view().get(bytes, at, part.size());
      at += part.size();
    }
    return bytes;
  }

  private static LciTestJob start(String rma, String chaos) {
    return LciTestJob.start(
        2, LciOptions.builder().attribute("rma", rma).attribute("chaos", chaos).build());
  }

  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "auto,seed=5", "messages,seed=6"})
  void listsGoIntoOneRangeAndComeFromIt(String rma, String chaos) {
    try (LciTestJob job = start(rma, chaos)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(2L * TOTAL);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      for (int seed = 0; seed < 5; seed++) {
        Completion put = lci.post(Op.put(remote, 77, filled(lci, seed))).block(LIMIT);
        assertThat(put.size()).isEqualTo(TOTAL);
        byte[] there = new byte[TOTAL];
        region.view(77, TOTAL).get(there);
        assertThat(there).isEqualTo(pattern(seed));
        BufferList otherCut = list(lci, 3, TOTAL - 10, 0, 7);
        Completion got = lci.post(Op.get(remote, 77, otherCut)).block(LIMIT);
        assertThat(got.size()).isEqualTo(TOTAL);
        assertThat(got.message()).isNull();
        assertThat(bytes(otherCut)).isEqualTo(pattern(seed));
      }
      region.dispose();
    }
  }

  /** Each part has its place, in any order and in several regions; one signal for all. */
  @ParameterizedTest(name = "rma {0}, chaos {1}")
  @CsvSource({"auto,''", "messages,''", "auto,seed=7", "messages,seed=8"})
  void eachPartHasItsPlace(String rma, String chaos) {
    try (LciTestJob job = start(rma, chaos)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion first = job.rank(1).memory().allocate(2L * TOTAL);
      MemoryRegion second = job.rank(1).memory().allocate(2L * TOTAL);
      RemoteMemory a = lci.memory().remote(1, first.handle());
      RemoteMemory b = lci.memory().remote(1, second.handle());
      List<RemotePlace> places =
          List.of(
              b.at(0),
              a.at(100_000),
              a.at(17),
              b.at(500),
              a.at(1_000),
              b.at(9_000),
              b.at(30_000),
              a.at(0));
      Mono<Long> told = job.rank(1).inbox(DONE).receive(m -> m.tag()).take(2).reduce(0L, Long::sum);
      Mono<Completion> put = lci.post(Op.put(places, filled(lci, 9)).signal(DONE, 20));
      BufferList back = list(lci, SIZES);
      Mono<Completion> got = lci.post(Op.get(places, back).signal(DONE, 22));
      Mono<List<Long>> sizes = put.zipWhen(c -> got, (c, d) -> List.of(c.size(), d.size()));
      var both = Mono.zip(told, sizes).block(LIMIT);
      assertThat(both.getT1()).isEqualTo(42);
      assertThat(both.getT2()).containsExactly((long) TOTAL, (long) TOTAL);
      assertThat(bytes(back)).isEqualTo(pattern(9));
      assertThat(first.view(0, 1).get(0)).isEqualTo(pattern(9)[TOTAL - 1]);
      assertThat(second.view(500, 1).get(0)).isEqualTo(pattern(9)[13]);
      first.dispose();
      second.dispose();
    }
  }

  @ParameterizedTest(name = "chaos {0}")
  @ValueSource(strings = {"", "seed=9,delay=0.2,refuse=0.1"})
  void aReceiveFillsAList(String chaos) {
    try (LciTestJob job = start("auto", chaos)) {
      LciRuntime to = job.rank(1);
      for (int length : new int[] {0, 8, 193, 5_000, TOTAL - 1, TOTAL}) {
        byte[] sent = Arrays.copyOf(pattern(length), length);
        BufferList target = list(to, SIZES);
        Mono<Completion> received = to.post(Op.receive(0, 5, target));
        Mono<Completion> posted = job.rank(0).post(Op.send(1, 5, Payload.of(sent)));
        Completion completion = Mono.zip(received, posted).block(LIMIT).getT1();
        assertThat(completion.size()).isEqualTo(length);
        assertThat(completion.message()).isNull();
        assertThat(Arrays.copyOf(bytes(target), length)).isEqualTo(sent);
      }
      BufferList small = list(to, 10, 10);
      Mono<?> tooLong = to.post(Op.receive(0, 6, small));
      Mono<?> posted = job.rank(0).post(Op.send(1, 6, Payload.of(new byte[21])));
      assertThatThrownBy(() -> Mono.when(tooLong, posted).block(LIMIT))
          .isInstanceOf(TruncatedException.class);
    }
  }

  @Test
  void whatDoesNotFitIsRefusedAtTheCaller() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(100);
      MemoryRegion own = lci.memory().allocate(100);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      RemoteMemory here = lci.memory().remote(0, own.handle());
      BufferList two = list(lci, 50, 51);
      assertThatThrownBy(() -> Op.put(remote, 0, two))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> Op.get(remote, 0, two))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> Op.put(List.of(remote.at(0), remote.at(50)), two))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> remote.at(101)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> Op.get(List.of(remote.at(0)), two))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> Op.get(List.of(remote.at(0), here.at(0)), two))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("one rank");
      assertThatThrownBy(() -> Op.receive(0, 1, LciBuffer.list()))
          .isInstanceOf(IllegalArgumentException.class);
      Op others =
          Op.get(List.of(job.rank(1).memory().remote(1, region.handle()).at(0)), list(lci, 1));
      assertThatThrownBy(() -> lci.post(others))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another runtime");
      region.dispose();
      own.dispose();
    }
  }
}
