/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import java.util.function.Consumer;
import reactor.core.Exceptions;

/** What user code threw: its text is user code, too, and may throw. Any thread. */
public final class Thrown {
  private Thrown() {}

  /**
   * What it says of itself.
   *
   * @param error what was thrown
   * @return its text, or else the name of its class
   */
  public static String text(Throwable error) {
    try {
      String text = error.toString();
      if (text != null) {
        return text;
      }
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
    }
    return error.getClass().getName();
  }

  /**
   * Writes it into a log, which asks for its text, and for that of its causes.
   *
   * @param error what was thrown
   * @param log writes what it is given
   */
  public static void log(Throwable error, Consumer<Throwable> log) {
    try {
      log.accept(error);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      RuntimeException instead =
          new RuntimeException(error.getClass().getName() + ", whose text cannot be had");
      instead.setStackTrace(error.getStackTrace());
      log.accept(instead);
    }
  }
}
