/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

/** The owner of a key began to write its slot, and did not end in the time that a reader has. */
final class UnfinishedWriteException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UnfinishedWriteException(int rank) {
    super("rank " + rank + ", which has this key, stopped in the middle of a write");
  }
}
