/* SPDX-License-Identifier: Apache-2.0 */
/** Matching engines: domains of send and receive that do not meet. */
@NullMarked
package io.lci.matching;

import org.jspecify.annotations.NullMarked;
