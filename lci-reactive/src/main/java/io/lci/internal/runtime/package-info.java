/** Puts a runtime together, and ends it. Not API. */
@NullMarked
package io.lci.internal.runtime;

import org.jspecify.annotations.NullMarked;
