/** Implementation. No class here is API; anything may change at any time. */
@NullMarked
package io.lci.internal;

import org.jspecify.annotations.NullMarked;
