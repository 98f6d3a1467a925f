/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

/** Bytes that are no frame, or a frame that cannot come here. */
final class BadFrame extends Exception {
  private static final long serialVersionUID = 1L;

  private final String what;

  BadFrame(String message) {
    super(message, null, false, false);
    this.what = message;
  }

  String what() {
    return what;
  }
}
