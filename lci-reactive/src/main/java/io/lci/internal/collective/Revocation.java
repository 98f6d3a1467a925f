/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;

/**
 * A rank gave a group up, or a context. Members that hear of a group give up what they have of it,
 * so the core names them to others; the cause that they say names the first one.
 *
 * @param rank whose decision it was
 * @param hint what errors say
 * @param cause what the core is told
 */
record Revocation(int rank, String hint, int cause) {
  /** Causes above all codes: of a group, with a rank; or user code threw. */
  private static final int OF_A_GROUP = 1 << 30;

  private static final int THREW = 1 << 29;

  private static final String REVOKED = "it revoked the group";
  private static final String GAVE_UP = "it gave the context up";

  static Revocation ofGroup(int rank, String reason) {
    return new Revocation(rank, REVOKED + ": " + reason, OF_A_GROUP | rank);
  }

  static Revocation ofContext(int rank) {
    return new Revocation(rank, GAVE_UP, Codes.ERR_CANCELLED);
  }

  /** Code of the program threw. */
  static Revocation ofThrower(int rank, String text) {
    return new Revocation(rank, GAVE_UP + ": " + text, THREW);
  }

  boolean isOfGroup() {
    return (cause & OF_A_GROUP) != 0;
  }

  /** The rank that a cause names, or else the one that gave it. */
  static int rank(int cause, int giver) {
    return (cause & OF_A_GROUP) != 0 ? cause & ~OF_A_GROUP : giver;
  }

  /** What a cause says. */
  static String hint(NativeCalls calls, int cause) {
    if ((cause & OF_A_GROUP) != 0) {
      return REVOKED;
    }
    String why = (cause & THREW) != 0 ? "its codec or operator threw" : Errors.name(calls, cause);
    return GAVE_UP + ": " + why;
  }
}
