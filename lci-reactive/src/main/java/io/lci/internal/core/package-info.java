/**
 * The runtime of the core: who may call it, what it answers, whom it tells. The lowest room. Not
 * API.
 */
@NullMarked
package io.lci.internal.core;

import org.jspecify.annotations.NullMarked;
