/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A key-value service: HTTP in front of every rank, the keys spread over all of them. Reads go
 * through remote memory, writes to the owner by RPC, scans are remote streams.
 */
@NullMarked
package io.lci.samples.kv;

import org.jspecify.annotations.NullMarked;
