/* SPDX-License-Identifier: Apache-2.0 */
/** Remote procedure calls between ranks. */
@NullMarked
package io.lci.rpc;

import org.jspecify.annotations.NullMarked;
