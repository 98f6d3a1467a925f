/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the boundary between Java and C costs: a lane driven from Java, without the reactive layer.
 */
@NullMarked
package io.lci.samples.bench.boundary;

import org.jspecify.annotations.NullMarked;
