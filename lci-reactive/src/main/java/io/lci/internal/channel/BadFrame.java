/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.channel;

/** Bytes that are no frame, or a frame that cannot come here. */
final class BadFrame extends Exception {
  private static final long serialVersionUID = 1L;

  BadFrame(String message) {
    super(message, null, false, false);
  }
}
