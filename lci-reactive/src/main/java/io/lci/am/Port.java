/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;

/**
 * Address of an inbox: a number and a name, the same on every rank. The number travels; the name is
 * checked with the first message. If the receiver means another port by the number, that message is
 * discarded there, and from then on sending fails with {@link io.lci.error.PortMismatchException}.
 *
 * @param number 1 to {@value #MAX_NUMBER}
 * @param name not empty, at most {@value #MAX_NAME} bytes
 * @since 0.1
 */
public record Port(int number, String name) {
  /** Largest port number of a program. */
  public static final int MAX_NUMBER = 32_765;

  /** Most bytes of a name, in UTF-8. */
  public static final int MAX_NAME = 255;

  /** The library's own: they carry streams and RPC, and streams of groups. */
  private static final Map<Integer, String> OWN =
      Map.of(MAX_NUMBER + 1, "lci.group", MAX_NUMBER + 2, "lci.channel");

  /**
   * Checks number and name.
   *
   * @param number 1 to {@value #MAX_NUMBER}
   * @param name not empty, at most {@value #MAX_NAME} bytes
   */
  public Port {
    Objects.requireNonNull(name, "name");
    if (number < 1 || (number > MAX_NUMBER && !name.equals(OWN.get(number)))) {
      throw new IllegalArgumentException(
          "port number must be in 1.."
              + MAX_NUMBER
              + ": "
              + number
              + (OWN.containsKey(number) ? ", which carries " + OWN.get(number) : ""));
    }
    if (name.isEmpty()) {
      throw new IllegalArgumentException("port " + number + " needs a name");
    }
    int bytes = name.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > MAX_NAME) {
      throw new IllegalArgumentException(
          "the name of port "
              + number
              + " has "
              + bytes
              + " bytes; at most "
              + MAX_NAME
              + " bytes");
    }
  }

  /**
   * Creates a port.
   *
   * @param number 1 to {@value #MAX_NUMBER}
   * @param name not empty, at most {@value #MAX_NAME} bytes
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
