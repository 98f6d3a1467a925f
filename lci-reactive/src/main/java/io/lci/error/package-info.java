/**
 * One exception per meaning; all unchecked, all naming operation, rank, port, device, code and what
 * to do.
 */
@NullMarked
package io.lci.error;

import org.jspecify.annotations.NullMarked;
