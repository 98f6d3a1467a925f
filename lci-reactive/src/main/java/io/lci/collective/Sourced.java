/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

/**
 * An item of a {@linkplain GroupStreams#gather gathered} stream, and whose it is.
 *
 * @param member the number of its source in the group
 * @param item the item
 * @param <T> type of item
 * @since 0.1
 */
public record Sourced<T>(int member, T item) {}
