/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/** The library's structures are not the ones this bridge was compiled for. */
final class LayoutMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  LayoutMismatchException(String differences) {
    super(differences);
  }
}
