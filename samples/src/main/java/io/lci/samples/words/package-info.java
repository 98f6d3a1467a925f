/* SPDX-License-Identifier: Apache-2.0 */
/** The words of a text, counted by all ranks: two streams of a group. */
@NullMarked
package io.lci.samples.words;

import org.jspecify.annotations.NullMarked;
