/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

/**
 * An object that an operation ({@link io.lci.Op#completeTo}) or a port ({@link Completions#bind})
 * may signal.
 *
 * @since 0.1
 */
public interface CompletionTarget {}
