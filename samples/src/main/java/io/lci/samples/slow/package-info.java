/* SPDX-License-Identifier: Apache-2.0 */
/** A consumer that asks for little: what backpressure does to memory and to the sender. */
@NullMarked
package io.lci.samples.slow;

import org.jspecify.annotations.NullMarked;
