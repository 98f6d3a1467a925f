/**
 * The block of memory between a loop and the core: descriptors out, records in, and the memory of
 * operations. Not API.
 */
@NullMarked
package io.lci.internal.lane;

import org.jspecify.annotations.NullMarked;
