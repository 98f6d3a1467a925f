/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Counts k-mers across ranks: two passes over the reads, a two-layer Bloom filter, one table per
 * loop.
 */
@NullMarked
package io.lci.samples.kmer;

import org.jspecify.annotations.NullMarked;
