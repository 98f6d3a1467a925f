/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.CollectiveContext;

/** The calls that one stream makes. */
public interface StreamCalls extends CollectiveContext {
  /** Ends them on every member. */
  void giveUp();
}
