/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.util.Objects;

/**
 * Address of an inbox: a number and a name, the same on every rank. The number travels; the name is
 * checked with the first message. If the receiver means another port by the number, that message is
 * discarded there, and from then on sending fails with {@link io.lci.error.PortMismatchException}.
 *
 * @param number 1 to {@value #MAX_NUMBER}, whose last is the library's, see {@link #MAX_NUMBER}
 * @param name not empty
 * @since 0.1
 */
public record Port(int number, String name) {
  /**
   * Largest port number. It carries {@link io.lci.LciRuntime#streams()} and {@link
   * io.lci.LciRuntime#rpc()} where they are used; leave it to them.
   */
  public static final int MAX_NUMBER = 32_767;

  /**
   * Checks number and name.
   *
   * @param number 1 to {@value #MAX_NUMBER}, whose last is the library's, see {@link #MAX_NUMBER}
   * @param name not empty
   */
  public Port {
    if (number < 1 || number > MAX_NUMBER) {
      throw new IllegalArgumentException("port number must be in 1.." + MAX_NUMBER + ": " + number);
    }
    if (Objects.requireNonNull(name, "name").isEmpty()) {
      throw new IllegalArgumentException("port " + number + " needs a name");
    }
  }

  /**
   * Creates a port.
   *
   * @param number 1 to {@value #MAX_NUMBER}, whose last is the library's, see {@link #MAX_NUMBER}
   * @param name not empty
   * @return the port
   */
  public static Port of(int number, String name) {
    return new Port(number, name);
  }

  /** Returns {@code name(number)}. */
  @Override
  public String toString() {
    return name + '(' + number + ')';
  }
}
