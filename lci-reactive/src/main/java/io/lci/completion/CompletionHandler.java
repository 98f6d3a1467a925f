/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

/**
 * Hears of the ends of operations; see {@link io.lci.Op#completeTo(CompletionHandler)}.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface CompletionHandler {
  /**
   * An operation ended.
   *
   * @param completion how; its {@linkplain Completion#error() error} is null if the operation
   *     succeeded, and its message has the bytes of a receive or get without a buffer of its own
   */
  void onCompletion(Completion completion);
}
