/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

/**
 * What each thread of the sample does.
 *
 * @param calls how many
 * @param window how many may be open at a time
 * @param seed of who calls whom with what
 */
record EchoPlan(int calls, int window, long seed) {}
