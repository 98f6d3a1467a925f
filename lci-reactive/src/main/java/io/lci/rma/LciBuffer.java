/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import io.lci.am.Payload;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Native memory for operations that must not copy: the target of a get, or a payload that is sent
 * from where it lies. Made by {@link Memory#buffer(int)} or {@link Memory#sharedBuffer(int)}; the
 * garbage collector frees it when neither the program nor an operation needs it, so there is
 * nothing to release.
 *
 * <p>As a payload it is copied up to the inline size and referred to above it: its bytes must not
 * change until the operation has ended. The target of a get must not be read before.
 *
 * <p>It belongs to the runtime that made it: operations of another runtime refuse it with {@link
 * IllegalArgumentException}.
 *
 * @since 0.1
 */
public interface LciBuffer extends Payload {
  /** {@return a little-endian view of all its bytes, at position 0; each call a new one} */
  ByteBuffer view();

  /**
   * Makes one payload of the bytes of several buffers, without a copy into one buffer first: small
   * ones are gathered into the packet, large ones go from where they lie. Receives and gets fill
   * them from first to last.
   *
   * @param parts in their order; must not change until the operation has ended
   * @return the payload, or the target
   */
  static BufferList list(LciBuffer... parts) {
    return new BufferList(List.of(parts));
  }
}
