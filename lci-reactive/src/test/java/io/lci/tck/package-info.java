/** The rules of Reactive Streams, held against every publisher and subscriber of the library. */
@NullMarked
package io.lci.tck;

import org.jspecify.annotations.NullMarked;
