/* SPDX-License-Identifier: Apache-2.0 */
/** Programs behind {@code ./lci bench}. */
@NullMarked
package io.lci.samples.bench;

import org.jspecify.annotations.NullMarked;
