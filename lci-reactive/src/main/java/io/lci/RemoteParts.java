/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Port;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.RemoteMemory;
import io.lci.rma.RemotePlace;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Checks lists of buffers and places, and signals of puts and gets. */
final class RemoteParts {
  private RemoteParts() {}

  static void checkList(BufferList list) {
    if (list.parts().isEmpty()) {
      throw new IllegalArgumentException("a list needs a buffer");
    }
  }

  /** One place of one rank for each buffer, with room for it. */
  static void check(List<RemotePlace> places, BufferList list) {
    Objects.requireNonNull(places, "places");
    checkList(Objects.requireNonNull(list, "parts"));
    List<LciBuffer> parts = list.parts();
    if (places.size() != parts.size()) {
      throw new IllegalArgumentException(
          "as many places as buffers are needed: " + places.size() + " and " + parts.size());
    }
    int rank = places.get(0).memory().rank();
    for (int i = 0; i < parts.size(); i++) {
      RemoteMemory memory = places.get(i).memory();
      Objects.checkFromIndexSize(places.get(i).offset(), parts.get(i).size(), memory.size());
      if (memory.rank() != rank) {
        throw new IllegalArgumentException(
            "places are of one rank, not of " + rank + " and " + memory.rank());
      }
    }
  }

  static void checkSignalTag(long tag) {
    if (tag < 0 || tag > Op.MAX_SIGNAL_TAG) {
      throw new IllegalArgumentException("tag must be in 0.." + Op.MAX_SIGNAL_TAG + ": " + tag);
    }
  }

  static String text(@Nullable Port signalled) {
    return signalled == null ? "" : " port " + signalled;
  }
}
