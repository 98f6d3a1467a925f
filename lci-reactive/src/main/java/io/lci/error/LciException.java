/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

import java.util.Objects;

/**
 * Base of every failure this library reports. Each meaning has a subclass; catch the subclass, log
 * the message.
 *
 * <p>The message is complete by itself: it says what was attempted, against which rank, port and
 * device, with which code it ended, and what to do about it.
 *
 * @since 0.1
 */
public class LciException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Value of {@link #rank()}, {@link #port()} and {@link #device()} when the failure concerns none.
   */
  public static final int NONE = -1;

  /**
   * Describes the failure.
   *
   * @param operation the operation, for example {@code "am"} or {@code "open port"}
   * @param rank peer, or {@link #NONE}
   * @param port port number or matching engine, or {@link #NONE}
   * @param device device index, or {@link #NONE}
   * @param code name of the code, for example {@code "error_peer_failed"}
   * @param hint one sentence: the circumstances and what to do; may be empty
   */
  public record Detail(String operation, int rank, int port, int device, String code, String hint) {
    /**
     * None of the texts is null.
     *
     * @param operation the operation
     * @param rank peer, or {@link #NONE}
     * @param port port number or matching engine, or {@link #NONE}
     * @param device device index, or {@link #NONE}
     * @param code name of the code
     * @param hint the circumstances and what to do; may be empty
     */
    public Detail {
      Objects.requireNonNull(operation, "operation");
      Objects.requireNonNull(code, "code");
      Objects.requireNonNull(hint, "hint");
    }

    /**
     * A failure that concerns no rank, port or device.
     *
     * @param operation what was attempted
     * @param code name of the code
     * @param hint circumstances and what to do
     * @return the detail
     */
    public static Detail of(String operation, String code, String hint) {
      return new Detail(operation, NONE, NONE, NONE, code, hint);
    }

    private String message() {
      StringBuilder text = new StringBuilder(operation);
      append(text, " rank ", rank);
      append(text, meetsAtEngine() ? " engine " : " port ", port);
      append(text, " device ", device);
      text.append(": ").append(code);
      return hint.isEmpty() ? text.toString() : text.append(" - ").append(hint).toString();
    }

    private boolean meetsAtEngine() {
      return operation.equals("send") || operation.equals("receive");
    }

    private static void append(StringBuilder text, String label, int value) {
      if (value != NONE) {
        text.append(label).append(value);
      }
    }
  }

  private final Detail detail;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public LciException(Detail detail) {
    super(detail.message());
    this.detail = detail;
  }

  /** {@return what was attempted, for example {@code "am"}} */
  public final String operation() {
    return detail.operation();
  }

  /** {@return the peer's rank, or {@link #NONE}} */
  public final int rank() {
    return detail.rank();
  }

  /** {@return the port number (matching engine for send and receive), or {@link #NONE}} */
  public final int port() {
    return detail.port();
  }

  /** {@return the device index, or {@link #NONE}} */
  public final int device() {
    return detail.device();
  }

  /** {@return the name of the code, for example {@code "error_port_closed"}} */
  public final String code() {
    return detail.code();
  }

  /** {@return the circumstances and what to do; may be empty} */
  public final String hint() {
    return detail.hint();
  }

  /** {@return all of the above as one value} */
  public final Detail detail() {
    return detail;
  }
}
