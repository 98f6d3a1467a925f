/** Posting: operations, what waits for room, and the operators that send many. Not API. */
@NullMarked
package io.lci.internal.post;

import org.jspecify.annotations.NullMarked;
