/** Receiving by ports: inboxes, the ways to consume them, and retained messages. Not API. */
@NullMarked
package io.lci.internal.inbox;

import org.jspecify.annotations.NullMarked;
