/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

/** Remote memory as descriptors name it. */
interface RemoteId {
  long id();

  /** The runtime that opened it. */
  CoreRuntime core();
}
