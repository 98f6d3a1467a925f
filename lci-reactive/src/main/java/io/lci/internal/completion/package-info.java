/** Completion objects and graphs. Not API. */
@NullMarked
package io.lci.internal.completion;

import org.jspecify.annotations.NullMarked;
