/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Encoder;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Text in payloads: what is put is what {@link MessageView#utf8()} reads. */
@ExtendWith(LciLeakCheck.class)
class Utf8Test {
  private static final Port PORT = Port.of(3, "texts");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Sends texts from rank 0 to rank 1, and returns what arrives. */
  private static <T> List<String> arrived(Encoder<? super T> encoder, List<T> items) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<List<String>> received =
          job.rank(1).inbox(PORT).receive(MessageView::utf8).take(items.size()).collectList();
      Mono<Void> sent = job.rank(0).sender(PORT).sendAll(1, Flux.fromIterable(items), encoder);
      return Mono.zip(received, sent.thenReturn(true)).block(LIMIT).getT1();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "plain", "äöü ß", "日本語", "a\u0000b", "\uD83D\uDE00 \uD834\uDD1E", "\uFEFF€"})
  void textArrivesAsItWasPut(String text) {
    assertThat(arrived((s, out) -> out.putUtf8(s), List.of(text))).containsExactly(text);
  }

  @ParameterizedTest
  @ValueSource(ints = {63, 64, 65, 3_000, 100_000})
  void whateverItsLength(int length) {
    String text = "é".repeat(length); // inline, in a packet, beyond a packet
    assertThat(arrived((s, out) -> out.putUtf8(s), List.of(text))).containsExactly(text);
  }

  @Test
  void anyCharSequenceWillDoAndItAppends() {
    List<StringBuilder> items = List.of(new StringBuilder("née"));
    assertThat(arrived((s, out) -> out.putUtf8("<").putUtf8(s).putByte('>'), items))
        .containsExactly("<née>");
  }

  @Test
  void halfASurrogatePairBecomesAQuestionMarkAsInString() {
    assertThat(arrived((s, out) -> out.putUtf8(s), List.of("a\uD83Db\uDE00c")))
        .containsExactly("a?b?c");
  }

  @Test
  void textBeyondTheAnnouncedSizeIsATypedError() {
    Payload tooSmall =
        new Payload() {
          @Override
          public int size() {
            return 4;
          }

          @Override
          public void writeTo(PayloadWriter out) {
            out.putUtf8("\uD83D\uDE00!");
          }
        };
    try (LciTestJob job = LciTestJob.start(2)) {
      assertThatThrownBy(() -> job.rank(0).sender(PORT).send(1, tooSmall).block(LIMIT))
          .isInstanceOfSatisfying(
              LciException.class, e -> assertThat(e.code()).isEqualTo("error_argument"))
          .hasMessageContaining("announced 4 bytes and wrote 5");
    }
  }
}
