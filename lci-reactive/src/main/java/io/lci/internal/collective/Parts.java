/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.lane.CallData;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A call of several parts, as what makes them sees it. Loop only. */
interface Parts {

  /** The number of this member. */
  int own();

  /** Members. */
  int size();

  int worldRank(int member);

  /** Whether nobody waits for the result any more. */
  boolean isOver();

  /** Of calls of this group. */
  CallMaker maker();

  /** Makes the part now. The Mono ends as it does. */
  Mono<Void> make(CallData part);

  /**
   * The same, with a result that goes to memory of the program, unless nobody waits for it then.
   */
  Mono<Void> makeInto(CallData part);

  /**
   * All members know that only the core can make the call fail now, and its last part is made:
   * later calls may begin.
   */
  void settled();

  /**
   * All members hear in this call that one of them failed: its context has failed at all of them.
   *
   * @param text what that one says
   * @param cause the same at that one itself
   * @return the error
   */
  RuntimeException failed(int member, String text, @Nullable Throwable cause);

  /**
   * This member fails, and others cannot hear it in this call: the core tells them.
   *
   * @return the error
   */
  RuntimeException gaveUp(Throwable cause);
}
