/* SPDX-License-Identifier: Apache-2.0 */
/** Heat that spreads over a plate, whose rows lie on all ranks. */
@NullMarked
package io.lci.samples.heat;

import org.jspecify.annotations.NullMarked;
