/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

/** The slots in which a new key may be are all taken. */
final class TableFullException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TableFullException(int rank, String key) {
    super(
        "rank " + rank + " has no room for \"" + key + "\": remove keys, or start with more slots");
  }
}
