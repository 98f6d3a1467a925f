/** For tests: jobs whose ranks live in one JVM, and checks that nothing leaked or was dropped. */
@NullMarked
package io.lci.testing;

import org.jspecify.annotations.NullMarked;
