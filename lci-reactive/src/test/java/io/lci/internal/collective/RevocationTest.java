/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Message;
import io.lci.nativebridge.Codes;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What members say to each other of groups and contexts that are given up. */
class RevocationTest {
  /** Whoever passes it on through the core, it is the first one's. */
  @Test
  void aCauseOfAGroupNamesItsRank() {
    int cause = Revocation.ofGroup(7, "why").cause();
    assertThat(Codes.isError(cause)).isTrue();
    assertThat(Revocation.rank(cause, 3)).isEqualTo(7);
    assertThat(Revocation.rank(Codes.ERR_CANCELLED, 3)).isEqualTo(3);
    int threw = Revocation.ofContext(7, "why").cause();
    assertThat(Codes.isError(threw)).isTrue();
    assertThat(Revocation.rank(threw, 3)).isEqualTo(3);
  }

  @Test
  void aMessageBringsGroupAndReason() {
    Message message = new Message(4, 0, Revocation.message(-99, "no löss"));
    assertThat(Revocation.group(message)).isEqualTo(-99);
    assertThat(Revocation.of(message)).isEqualTo(Revocation.ofGroup(4, "no löss"));
  }

  @Test
  void aMessageThatIsTooShortIsNone() {
    assertThat(Revocation.isOne(new Message(4, 0, new byte[7]))).isFalse();
    assertThat(Revocation.isOne(new Message(4, 0, new byte[8]))).isTrue();
  }

  /** A character of two parts is not divided. */
  @Test
  void aLongReasonIsCut() {
    for (String reason : List.of("x".repeat(2_000), "€".repeat(2_000), "x" + "😀".repeat(900))) {
      byte[] bytes = Revocation.message(1, reason);
      assertThat(bytes).hasSizeLessThanOrEqualTo(Revocation.MAX_BYTES);
      String hint = Revocation.of(new Message(0, 0, bytes)).hint();
      assertThat(hint).doesNotContain("?");
      assertThat(reason).startsWith(hint.substring(hint.indexOf(": ") + 2));
    }
  }

  /** All members compute the same, and groups that differ in anything have others. */
  @Test
  void groupsAreToldApart() {
    GroupKey key = new GroupKey(List.of(0, 2, 1), 5);
    assertThat(key.id()).isEqualTo(new GroupKey(List.of(0, 2, 1), 5).id());
    assertThat(
            List.of(
                key.id(),
                new GroupKey(List.of(0, 1, 2), 5).id(),
                new GroupKey(List.of(0, 2), 5).id(),
                new GroupKey(List.of(0, 2, 1), 6).id(),
                key.survivorsKey(0),
                key.survivorsKey(1)))
        .doesNotHaveDuplicates();
  }
}
