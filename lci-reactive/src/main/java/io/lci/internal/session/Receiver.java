/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;

/** Who gets what an exchange receives. Called on the loop; may call user code. */
interface Receiver {
  /** Wanted and not delivered yet. */
  long demand();

  /** One item, within the demand or the one that a peer may send unasked. */
  void item(Message message);

  /** No more come. */
  void complete();

  /** No more come, for a reason. */
  void error(Throwable reason);
}
