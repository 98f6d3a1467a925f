/** What an operation or a port may signal, and what it then receives. */
@NullMarked
package io.lci.completion;

import org.jspecify.annotations.NullMarked;
