/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Streams of groups: items of all members, windows for each receiver and source, and ends that
 * every member hears of.
 */
@NullMarked
package io.lci.internal.groupstream;

import org.jspecify.annotations.NullMarked;
