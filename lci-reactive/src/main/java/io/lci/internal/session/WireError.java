/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.NoSuchFunctionException;
import io.lci.error.NoSuchStreamException;
import io.lci.error.OperationCancelledException;
import io.lci.error.ProtocolException;
import io.lci.error.RemoteException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.core.Thrown;

/**
 * An error as it travels.
 *
 * @param code its code; not empty
 * @param message for people
 * @param user whether user code made it
 */
record WireError(String code, String message, boolean user) {
  static final String CANCELLED = "error_cancelled";
  static final String EXHAUSTED = "error_exhausted";
  static final String PROTOCOL = "error_protocol";
  static final String FAULT = "error_fault";
  static final String NO_STREAM = "error_no_such_stream";
  static final String NO_FUNCTION = "error_no_such_function";

  static WireError of(String code, String message) {
    return new WireError(code, message, false);
  }

  /** What user code failed with. */
  static WireError ofUser(Throwable error) {
    return error instanceof RemoteException chosen && !chosen.code().isEmpty()
        ? new WireError(chosen.code(), chosen.hint(), true)
        : new WireError(RemoteException.APPLICATION, Thrown.text(error), true);
  }

  /** The exception for whoever waits here; {@code operation} is what he waits for. */
  LciException at(String operation, int peer) {
    Detail detail = detail(operation, peer, code, message);
    if (user) {
      return new RemoteException(detail);
    }
    return switch (code) {
      case CANCELLED -> new OperationCancelledException(detail);
      case EXHAUSTED -> new ResourceExhaustedException(detail);
      case PROTOCOL -> new ProtocolException(detail);
      case NO_STREAM -> new NoSuchStreamException(detail);
      case NO_FUNCTION -> new NoSuchFunctionException(detail);
      default -> new RemoteException(detail);
    };
  }

  static Detail detail(String operation, int peer, String code, String hint) {
    return new Detail(operation, peer, LciException.NONE, LciException.NONE, code, hint);
  }
}
