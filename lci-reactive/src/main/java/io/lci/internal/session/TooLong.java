/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.error.ResourceExhaustedException;

/** An item that is longer than this rank's own limit. */
final class TooLong extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TooLong(int most) {
    super("an item of more than " + most + " bytes: see StreamLimits.itemBytes");
  }

  ResourceExhaustedException reason(Exchange exchange) {
    return new ResourceExhaustedException(
        WireError.detail(
            exchange.operation(),
            exchange.session.peer(),
            WireError.EXHAUSTED,
            String.valueOf(getMessage())));
  }
}
