/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The form that the paper describes: two passes over the reads, a Bloom filter of two layers, a
 * table for each loop.
 */
@NullMarked
package io.lci.samples.kmer.twopass;

import org.jspecify.annotations.NullMarked;
