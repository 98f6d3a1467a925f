/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

/**
 * Takes messages where they lie, without garbage. Called on the inbox's home loop, serially; must
 * not block.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface MessageHandler {
  /**
   * Takes one message.
   *
   * @param message valid only during the call; the same object every time
   */
  void onMessage(MessageView message);
}
