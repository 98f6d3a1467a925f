/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

/** What user code may throw, too: its text cannot be had. */
public final class Unspeakable extends RuntimeException {
  private static final long serialVersionUID = 1L;

  @Override
  public String getMessage() {
    throw new IllegalStateException("no text");
  }
}
