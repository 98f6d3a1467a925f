/* SPDX-License-Identifier: Apache-2.0 */
/** Remote memory: regions that other ranks put to and get from. */
@NullMarked
package io.lci.rma;

import org.jspecify.annotations.NullMarked;
