/* SPDX-License-Identifier: Apache-2.0 */
/** Reads FASTA and FASTQ files, plain or gzip-compressed, as runs of bases. */
@NullMarked
package io.lci.samples.reads;

import org.jspecify.annotations.NullMarked;
