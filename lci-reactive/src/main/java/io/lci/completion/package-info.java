/**
 * Completion objects: queues, synchronizers, counters and graphs, and the completions that they
 * receive.
 */
@NullMarked
package io.lci.completion;

import org.jspecify.annotations.NullMarked;
