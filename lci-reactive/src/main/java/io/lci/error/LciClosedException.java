/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The runtime is closed, or this inbox or completion object was disposed, before or while something
 * was outstanding; the message says which. Where a fatal error ended the runtime, that error is the
 * cause. Or others count this rank as failed, so that it takes part no more: {@link #isFenced()}.
 *
 * @since 0.1
 */
public class LciClosedException extends LciException {
  private static final long serialVersionUID = 1L;
  private static final String FENCED = "error_fenced";

  /** The exit code of a program that ends because its rank is fenced. */
  public static final int EXIT_FENCED = 74;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public LciClosedException(Detail detail) {
    super(detail);
  }

  /**
   * Whether the runtime has ended because others count this rank as failed, as after a network that
   * was cut in two: they go on without it. The log says which rank said so. A program that ends
   * because of this exits with {@value #EXIT_FENCED}, so that its launcher can tell.
   *
   * @return whether the code is {@code error_fenced}
   */
  public boolean isFenced() {
    return FENCED.equals(code());
  }
}
