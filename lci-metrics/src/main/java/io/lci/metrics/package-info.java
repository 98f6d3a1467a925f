/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Micrometer meters of a runtime: {@link io.lci.metrics.LciMetrics} binds them, {@link
 * io.lci.metrics.LciMeter} says which there are.
 */
@NullMarked
package io.lci.metrics;

import org.jspecify.annotations.NullMarked;
