/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import java.io.Serializable;

/** What each rank does. It is sent to processes, so it must not capture what cannot be sent. */
@FunctionalInterface
interface Body extends Serializable {
  /**
   * Runs on a thread of the rank's own, which may block.
   *
   * @throws Exception whatever fails the test
   */
  void run(World world) throws Exception;
}
