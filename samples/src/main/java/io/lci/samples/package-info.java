/* SPDX-License-Identifier: Apache-2.0 */
/** Programs that show the library at work; {@code ./lci run -n N NAME} runs them. */
@NullMarked
package io.lci.samples;

import org.jspecify.annotations.NullMarked;
