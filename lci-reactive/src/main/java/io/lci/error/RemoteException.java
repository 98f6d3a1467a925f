/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The failure of a publisher or handler of another rank, as code and message: no classes travel.
 *
 * <p>A handler may throw one itself, to choose the code by which its caller tells failures apart;
 * {@link #hint()} is the message. Any other exception of user code arrives with the code {@link
 * #APPLICATION} and its {@code toString()} as the message.
 *
 * @since 0.1
 */
public class RemoteException extends LciException {
  private static final long serialVersionUID = 1L;

  /** Code of failures of user code that chose none. */
  public static final String APPLICATION = "error_application";

  /**
   * For handlers and publishers: a failure with a code of its own.
   *
   * @param code for example {@code "no_such_key"}, not null; at most 64 bytes of it travel
   * @param message for people, not null; at most 1,024 bytes of it travel
   */
  public RemoteException(String code, String message) {
    this(Detail.of("user code", code, message));
  }

  /**
   * Creates the exception.
   *
   * @param detail what failed, where; code and hint as they came
   */
  public RemoteException(Detail detail) {
    super(detail);
  }
}
