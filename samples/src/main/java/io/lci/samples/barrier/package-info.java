/* SPDX-License-Identifier: Apache-2.0 */
/** A barrier made of a completion graph. */
@NullMarked
package io.lci.samples.barrier;

import org.jspecify.annotations.NullMarked;
