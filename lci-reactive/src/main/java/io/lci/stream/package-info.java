/**
 * Streams between ranks: a {@code Flux} that one rank publishes by name and others subscribe to.
 */
@NullMarked
package io.lci.stream;

import org.jspecify.annotations.NullMarked;
