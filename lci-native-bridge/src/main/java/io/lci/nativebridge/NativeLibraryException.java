/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The native library could not be loaded. The message is one line that names the reason, every
 * place tried and the fix.
 */
public final class NativeLibraryException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * One place where the library was looked for.
   *
   * @param place what was tried, for example a system property with its value
   * @param reason why it did not do
   */
  public record Attempt(String place, String reason) {
    @Override
    public String toString() {
      return place + ": " + reason;
    }
  }

  private final String reason;
  private final transient List<Attempt> attempts;
  private final String fix;

  NativeLibraryException(
      String reason, List<Attempt> attempts, String fix, @Nullable Throwable cause) {
    super(message(reason, attempts, fix), cause);
    this.reason = reason;
    this.attempts = List.copyOf(attempts);
    this.fix = fix;
  }

  private static String message(String reason, List<Attempt> attempts, String fix) {
    String tried =
        attempts.isEmpty()
            ? ""
            : attempts.stream()
                .map(Attempt::toString)
                .collect(Collectors.joining("; ", " Tried: ", "."));
    return LibraryFile.NAME + " cannot be loaded: " + reason + "." + tried + " Fix: " + fix + ".";
  }

  /** Why the last place, or the start, failed. */
  public String reason() {
    return reason;
  }

  /** Every place tried, in order; empty if the search was never begun. */
  public List<Attempt> attempts() {
    return attempts == null ? List.of() : attempts;
  }

  /** What to do about it. */
  public String fix() {
    return fix;
  }
}
