/**
 * One numbered session per pair of ranks, and the exchanges that it carries: remote streams and the
 * four interactions of RPC. Built on the public API: frames are active messages to one reserved
 * port. Not for users.
 */
@NullMarked
package io.lci.internal.session;

import org.jspecify.annotations.NullMarked;
