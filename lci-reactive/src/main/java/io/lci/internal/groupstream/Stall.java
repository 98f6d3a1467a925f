/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Why a stream does not move, told once for each time that it stands still. Loop only. */
final class Stall {
  private final Shape shape;
  private final BitSet begun = new BitSet();
  private boolean moved = true;
  private boolean told;

  Stall(Shape shape) {
    this.shape = shape;
    begun.set(shape.self());
  }

  /** A member has begun. */
  void begun(int member) {
    begun.set(member);
  }

  /** Something came, left or was delivered. */
  void moved() {
    moved = true;
  }

  /**
   * Asked now and then.
   *
   * @param keeps items that wait for demand here
   * @return why nothing moved since it was last asked; null if it did, if that was told, or if
   *     sources that bring nothing are all there is
   */
  @Nullable String reason(Sending<?> sending, boolean keeps) {
    if (moved) {
      moved = false;
      told = false;
      return null;
    }
    List<String> reasons = told ? List.of() : reasons(sending, keeps);
    told |= !reasons.isEmpty();
    return reasons.isEmpty() ? null : String.join(", ", reasons);
  }

  private List<String> reasons(Sending<?> sending, boolean keeps) {
    List<String> reasons = new ArrayList<>();
    for (int member = 0; member < shape.size(); member++) {
      OutFlow<?> flow = sending.to(member);
      String rank = "rank " + shape.group().worldRank(member);
      if (!begun.get(member)) {
        reasons.add(rank + " has not begun it");
      } else if (member != shape.self() && flow != null && !flow.waiting.isEmpty()) {
        reasons.add(rank + " takes nothing, and " + flow.waiting.size() + " items wait for it");
      }
    }
    if (keeps) {
      reasons.add("the subscriber here asks for nothing");
    }
    return reasons;
  }
}
