/* SPDX-License-Identifier: Apache-2.0 */
/** Vectors that all ranks add up. */
@NullMarked
package io.lci.samples.allreduce;

import org.jspecify.annotations.NullMarked;
