/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A library for remote procedure calls, in two layers: a backend that moves messages, and calls on
 * top of it.
 */
@NullMarked
package io.lci.samples.rpc;

import org.jspecify.annotations.NullMarked;
