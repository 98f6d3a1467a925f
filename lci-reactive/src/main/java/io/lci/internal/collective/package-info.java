/* SPDX-License-Identifier: Apache-2.0 */
/** Collective calls: the group of all ranks. */
@NullMarked
package io.lci.internal.collective;

import org.jspecify.annotations.NullMarked;
