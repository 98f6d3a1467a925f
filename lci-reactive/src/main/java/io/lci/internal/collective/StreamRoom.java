/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.GroupStreams;

/** Where the streams of groups are made: a room above this one. Any thread. */
public interface StreamRoom {
  /** The streams of a context. */
  GroupStreams of(StreamMembers members);

  /** The context is gone. */
  void forget(StreamMembers members);

  /** It was given up, as each member hears: its streams end. */
  void revoked(StreamMembers members, int rank, String why);
}
