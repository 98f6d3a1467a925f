/** The runtime, its options and its event loops: where a program starts. */
@NullMarked
package io.lci;

import org.jspecify.annotations.NullMarked;
