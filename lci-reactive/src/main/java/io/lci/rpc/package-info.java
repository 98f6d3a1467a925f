/** Remote procedure calls between ranks: four interactions with functions that have a name. */
@NullMarked
package io.lci.rpc;

import org.jspecify.annotations.NullMarked;
