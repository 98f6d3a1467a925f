/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Groups of ranks, and the calls that all members of a group make together: they meet, bring data
 * to each other, and combine it.
 */
@NullMarked
package io.lci.collective;

import org.jspecify.annotations.NullMarked;
