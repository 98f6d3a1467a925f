/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.PeerEvent;
import io.lci.error.CollectiveFailedException;
import io.lci.error.CollectiveMismatchException;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.internal.core.Thrown;

/**
 * Why a stream ended, as it travels.
 *
 * @param rank the member it is about
 * @param code says which error it is
 * @param text for people
 */
record StreamCause(int rank, String code, String text) {
  private static final String CANCELLED = "error_cancelled";
  private static final String FAILED = "error_collective";
  private static final String MISMATCH = "error_mismatch";
  private static final String PEER_LEFT = "error_peer_left";
  private static final String PEER_FAILED = "error_peer_failed";

  static StreamCause cancelled(int rank) {
    return new StreamCause(rank, CANCELLED, "the member cancelled");
  }

  static StreamCause failed(int rank, Throwable reason) {
    if (reason instanceof PeerFailedException gone) {
      return new StreamCause(gone.rank(), PEER_FAILED, gone.hint());
    }
    if (reason instanceof PeerLeftException gone) {
      return new StreamCause(gone.rank(), PEER_LEFT, gone.hint());
    }
    return new StreamCause(rank, FAILED, "the member failed: " + Thrown.text(reason));
  }

  static StreamCause revoked(int rank, String why) {
    return new StreamCause(rank, FAILED, why);
  }

  static StreamCause mismatch(int rank, String text) {
    return new StreamCause(rank, MISMATCH, text);
  }

  static StreamCause gone(PeerEvent event) {
    return event.state() == PeerEvent.State.LEFT
        ? new StreamCause(event.rank(), PEER_LEFT, "the member left before it had completed")
        : new StreamCause(event.rank(), PEER_FAILED, "the member died");
  }

  LciException at(String operation, int device) {
    Detail detail = new Detail(operation, rank, LciException.NONE, device, code, text);
    return switch (code) {
      case CANCELLED -> new OperationCancelledException(detail);
      case MISMATCH -> new CollectiveMismatchException(detail);
      case PEER_LEFT -> new PeerLeftException(detail);
      case PEER_FAILED -> new PeerFailedException(detail);
      default -> new CollectiveFailedException(detail);
    };
  }
}
