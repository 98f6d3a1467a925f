/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import io.lci.am.MessageView;
import java.nio.ByteBuffer;

/** What can be called from another rank. */
interface RpcFunction {
  /** Returns how many bytes the answer to these arguments has. */
  int resultBytes(MessageView arguments);

  /** Writes exactly that many bytes. Must not block; {@code arguments} end with the call. */
  void call(MessageView arguments, ByteBuffer result);
}
