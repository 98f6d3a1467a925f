/* SPDX-License-Identifier: Apache-2.0 */
/** What both forms of the k-mer job share: k-mers, tables, options, progress, results. */
@NullMarked
package io.lci.samples.kmer.common;

import org.jspecify.annotations.NullMarked;
