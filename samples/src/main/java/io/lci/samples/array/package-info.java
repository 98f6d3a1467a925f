/* SPDX-License-Identifier: Apache-2.0 */
/** An array that lies on all ranks: remote memory at work. */
@NullMarked
package io.lci.samples.array;

import org.jspecify.annotations.NullMarked;
