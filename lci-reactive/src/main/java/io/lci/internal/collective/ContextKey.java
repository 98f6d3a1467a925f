/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

/** What a context of a group is known by. */
record ContextKey(GroupKey group, long key, int device) {}
