/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The native library could not be loaded. The message names every place that was tried, why it
 * failed, and the fix.
 *
 * @since 0.1
 */
public class NativeLoadException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param hint places tried, reason and fix
   * @param cause the loader's failure
   */
  public NativeLoadException(String hint, Throwable cause) {
    super(Detail.of("load native library", "error_unsupported", hint));
    initCause(cause);
  }
}
