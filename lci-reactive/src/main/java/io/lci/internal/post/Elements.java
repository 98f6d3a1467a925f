/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

/**
 * What the kinds of bulk operators differ in: how an element is posted and taken back. Loop only.
 *
 * @param <T> element
 */
abstract class Elements<T> {
  final BulkRun<T, ?> run;

  Elements(BulkRun<T, ?> run) {
    this.run = run;
  }

  /**
   * Posts the element. Its end, now or later, is {@link BulkRun#accepted} or {@link
   * BulkRun#report}.
   */
  abstract void submit(T item);

  /**
   * Whether an element that is submitted next would only wait behind those submitted before. Where
   * others wait, too, it is to take its place among them.
   */
  boolean isHeldUp() {
    return false;
  }

  /**
   * Takes back what the core has not accepted, each through {@link BulkRun#gone} and {@link
   * BulkRun#discard}.
   */
  abstract void withdraw();

  /** The same, and what the core has accepted stays under way. */
  void withdrawWaiting() {
    withdraw();
  }

  /**
   * Whether what the core has accepted has its result before a failure ends the operator; else it
   * runs out.
   */
  boolean failureAwaitsResults() {
    return false;
  }

  /** What the operator does, for errors. */
  abstract String operation();
}
