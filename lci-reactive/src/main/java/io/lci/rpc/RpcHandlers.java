/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import io.lci.error.LciException.Detail;
import io.lci.error.NoSuchFunctionException;

/** The answers of {@link RpcHandler} where it is not implemented. */
final class RpcHandlers {
  private RpcHandlers() {}

  static NoSuchFunctionException missing() {
    return new NoSuchFunctionException(
        Detail.of("handle", "error_no_such_function", "the function has no such interaction"));
  }
}
