/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

/**
 * Books of calls and buffers.
 *
 * @param calls calls made
 * @param answers calls that were answered
 * @param served calls of others that were answered here
 * @param taken buffers taken to be filled and sent
 * @param given buffers that came back
 * @param sentAtOnce messages whose buffer was free as soon as they were sent
 * @param sentLater messages whose buffer the library kept for a while
 * @param polled messages that came
 * @param released messages whose memory was given back
 */
record RpcLedger(
    long calls,
    long answers,
    long served,
    long taken,
    long given,
    long sentAtOnce,
    long sentLater,
    long polled,
    long released) {
  static final RpcLedger EMPTY = new RpcLedger(0, 0, 0, 0, 0, 0, 0, 0, 0);

  RpcLedger plus(RpcLedger other) {
    return new RpcLedger(
        calls + other.calls,
        answers + other.answers,
        served + other.served,
        taken + other.taken,
        given + other.given,
        sentAtOnce + other.sentAtOnce,
        sentLater + other.sentLater,
        polled + other.polled,
        released + other.released);
  }

  /** Whether every call was answered, and every buffer is back where it came from. */
  boolean isBalanced() {
    return calls == answers
        && taken == calls + served
        && given == taken
        && sentAtOnce + sentLater == taken
        && polled == answers + served
        && released == polled;
  }
}
