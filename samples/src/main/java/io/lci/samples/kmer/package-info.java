/* SPDX-License-Identifier: Apache-2.0 */
/** Counts k-mers across ranks: the command, and what both forms of the job have around them. */
@NullMarked
package io.lci.samples.kmer;

import org.jspecify.annotations.NullMarked;
