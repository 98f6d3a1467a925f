/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

/**
 * How a function is called.
 *
 * @since 0.1
 */
public enum Interaction {
  /** One request, and no answer. */
  FIRE_AND_FORGET,
  /** One request, and one answer or none. */
  REQUEST_RESPONSE,
  /** One request, and a stream of answers. */
  REQUEST_STREAM,
  /** A stream of requests, and a stream of answers. */
  REQUEST_CHANNEL
}
