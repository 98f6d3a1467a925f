/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Message;
import io.lci.internal.collective.RevocationMessage.What;
import io.lci.nativebridge.Codes;
import java.util.Arrays;
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
    int threw = Revocation.ofThrower(7, "why").cause();
    assertThat(Codes.isError(threw)).isTrue();
    assertThat(Revocation.rank(threw, 3)).isEqualTo(3);
  }

  private static RevocationMessage read(byte... bytes) {
    return RevocationMessage.read(new Message(4, 0, bytes));
  }

  @Test
  void aMessageBringsGroupAndReason() {
    assertThat(read(RevocationMessage.of(What.GROUP, -99, "no löss")))
        .isEqualTo(new RevocationMessage(What.GROUP, -99, Revocation.ofGroup(4, "no löss")));
    assertThat(read(RevocationMessage.of(What.CONTEXT, 7, "")))
        .isEqualTo(new RevocationMessage(What.CONTEXT, 7, Revocation.ofContext(4)));
  }

  @Test
  void aMessageThatMakesNoSenseIsNone() {
    byte[] good = RevocationMessage.of(What.CONTEXT, 7, "");
    assertThat(read(Arrays.copyOf(good, good.length - 1))).isNull();
    for (byte unknown : new byte[] {2, -1}) {
      good[0] = unknown;
      assertThat(read(good)).isNull();
    }
  }

  /** A character of two parts is not divided. */
  @Test
  void aLongReasonIsCut() {
    for (String reason : List.of("x".repeat(2_000), "€".repeat(2_000), "x" + "😀".repeat(900))) {
      byte[] bytes = RevocationMessage.of(What.GROUP, 1, reason);
      assertThat(bytes).hasSizeLessThanOrEqualTo(RevocationMessage.MAX_BYTES);
      String hint = read(bytes).by().hint();
      assertThat(hint).doesNotContain("?");
      assertThat(reason).startsWith(hint.substring(hint.indexOf(": ") + 2));
    }
  }

  /** Of contexts that never come here there may be any number. */
  @Test
  void theLastContextsAreRemembered() {
    Revocations all = new Revocations(0, null);
    for (long id = 0; id <= Revocations.MOST_CONTEXTS; id++) {
      assertThat(all.add(What.CONTEXT, id, Revocation.ofContext(1))).isTrue();
    }
    assertThat(all.add(What.CONTEXT, 1, Revocation.ofContext(2))).isFalse();
    List<Integer> members = List.of(1, 2);
    assertThat(all.first(What.CONTEXT, 0, members)).isNull();
    assertThat(all.first(What.CONTEXT, 1, members)).isEqualTo(Revocation.ofContext(1));
    assertThat(all.first(What.GROUP, 1, members)).isNull();
    all.forgetContext(1);
    assertThat(all.first(What.CONTEXT, 1, members)).isNull();
  }

  /** Of groups that never come here, too; what is said of those that are here stays. */
  @Test
  void theLastGroupsAreRememberedAndThoseThatAreHere() {
    Revocations all = new Revocations(0, null);
    List<Integer> members = List.of(1, 2);
    all.add(What.GROUP, -1, Revocation.ofGroup(1, "earlier"));
    all.madeGroup(-1);
    all.madeGroup(-2);
    all.add(What.GROUP, -2, Revocation.ofGroup(2, "later"));
    for (long id = 0; id <= Revocations.MOST_GROUPS; id++) {
      assertThat(all.add(What.GROUP, id, Revocation.ofGroup(1, ""))).isTrue();
    }
    assertThat(all.first(What.GROUP, 0, members)).isNull();
    assertThat(all.first(What.GROUP, 1, members)).isNotNull();
    assertThat(all.first(What.GROUP, -1, members)).isEqualTo(Revocation.ofGroup(1, "earlier"));
    assertThat(all.first(What.GROUP, -2, members)).isEqualTo(Revocation.ofGroup(2, "later"));
    all.forgetGroup(-1);
    assertThat(all.first(What.GROUP, -1, members)).isEqualTo(Revocation.ofGroup(1, "earlier"));
    for (long id = 0; id < Revocations.MOST_GROUPS; id++) {
      all.add(What.GROUP, -10 - id, Revocation.ofGroup(1, ""));
    }
    assertThat(all.first(What.GROUP, -1, members)).isNull();
  }

  /** It keeps no member's word out, and is none when it is known who the members are. */
  @Test
  void anEarlierWordOfAStrangerDoesNotCount() {
    Revocations all = new Revocations(0, null);
    for (What what : What.values()) {
      all.add(what, 5, Revocation.ofContext(3));
      all.add(what, 5, Revocation.ofContext(1));
      assertThat(all.first(what, 5, List.of(0, 1))).isEqualTo(Revocation.ofContext(1));
      assertThat(all.first(what, 5, List.of(0, 2))).isNull();
      assertThat(all.add(what, 5, Revocation.ofContext(2))).isTrue();
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
