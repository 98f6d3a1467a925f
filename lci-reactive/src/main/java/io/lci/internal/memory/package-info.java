/** Regions of memory, registered here or remote. Not API. */
@NullMarked
package io.lci.internal.memory;

import org.jspecify.annotations.NullMarked;
