/**
 * Active messages: ports, inboxes that receive, senders that send, and what travels between them.
 */
@NullMarked
package io.lci.am;

import org.jspecify.annotations.NullMarked;
