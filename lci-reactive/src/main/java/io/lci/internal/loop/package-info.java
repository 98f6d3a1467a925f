/**
 * Event loops: turns, tasks, timers, signals, and rest. They know nothing of what they serve. Not
 * API.
 */
@NullMarked
package io.lci.internal.loop;

import org.jspecify.annotations.NullMarked;
