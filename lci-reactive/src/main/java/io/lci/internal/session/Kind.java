/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.rpc.Interaction;
import org.jspecify.annotations.Nullable;

/** Kinds of exchange. The ordinal travels. */
enum Kind {
  /** A subscription to a published stream: answers, and no request. */
  STREAM(null, "stream"),
  FORGET(Interaction.FIRE_AND_FORGET, "fire-and-forget"),
  RESPONSE(Interaction.REQUEST_RESPONSE, "request-response"),
  ANSWERS(Interaction.REQUEST_STREAM, "request-stream"),
  CHANNEL(Interaction.REQUEST_CHANNEL, "request-channel");

  private static final Kind[] ALL = values();

  /** Null for what is not RPC. */
  final @Nullable Interaction interaction;

  final String title;

  Kind(@Nullable Interaction interaction, String title) {
    this.interaction = interaction;
    this.title = title;
  }

  /** Whether it ends soon, and waits for a place instead of failing. */
  boolean isShort() {
    return this == FORGET || this == RESPONSE;
  }

  /** Whether its request is one item. */
  boolean asksOnce() {
    return this == FORGET || this == RESPONSE || this == ANSWERS;
  }

  static @Nullable Kind of(int ordinal) {
    return ordinal < ALL.length ? ALL[ordinal] : null;
  }
}
