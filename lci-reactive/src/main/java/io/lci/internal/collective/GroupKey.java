/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import java.util.List;

/** What a group is known by: the ranks of its members in their order, and a number. */
record GroupKey(List<Integer> ranks, long key) {}
