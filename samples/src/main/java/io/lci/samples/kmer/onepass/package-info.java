/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One pass over the reads: a shuffle brings runs of k-mers to partitions in the memory of their
 * owners, which count one partition after the other in a table that fits the cache.
 */
@NullMarked
package io.lci.samples.kmer.onepass;

import org.jspecify.annotations.NullMarked;
