/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import java.util.List;
import java.util.Objects;

/**
 * Several buffers whose bytes are one payload, one after the other; see {@link
 * LciBuffer#list(LciBuffer...)}.
 *
 * @param parts at most {@value #MAX_PARTS}
 * @since 0.1
 */
public record BufferList(List<LciBuffer> parts) implements Payload {
  /** Most buffers of a list. */
  public static final int MAX_PARTS = 65_536;

  /**
   * Copies the list and checks its length.
   *
   * @param parts at most {@value #MAX_PARTS}
   */
  public BufferList {
    parts = List.copyOf(Objects.requireNonNull(parts, "parts"));
    if (parts.size() > MAX_PARTS) {
      throw new IllegalArgumentException(
          "a list has at most " + MAX_PARTS + " buffers: " + parts.size());
    }
    long bytes = parts.stream().mapToLong(LciBuffer::size).sum();
    if (bytes > Integer.MAX_VALUE) {
      throw new IllegalArgumentException("a message has less than 2 GiB: " + bytes);
    }
  }

  @Override
  public int size() {
    int bytes = 0;
    for (LciBuffer part : parts) {
      bytes += part.size();
    }
    return bytes;
  }

  @Override
  public void writeTo(PayloadWriter out) {
    parts.forEach(part -> part.writeTo(out));
  }
}
