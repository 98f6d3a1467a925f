/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.internal.core.CoreRuntime;

/** Remote memory as descriptors name it. */
public interface RemoteId {
  long id();

  /** The runtime that opened it. */
  CoreRuntime core();
}
