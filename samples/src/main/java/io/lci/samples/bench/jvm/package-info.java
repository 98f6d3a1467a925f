/* SPDX-License-Identifier: Apache-2.0 */
/** Streams and round trips between two JVMs, ours and those of peers. */
@NullMarked
package io.lci.samples.bench.jvm;

import org.jspecify.annotations.NullMarked;
