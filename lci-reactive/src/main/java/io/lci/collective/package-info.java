/* SPDX-License-Identifier: Apache-2.0 */
/** Collective calls: every rank of a group makes them, and they end for all. */
@NullMarked
package io.lci.collective;

import org.jspecify.annotations.NullMarked;
