/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

/** Takes runs of consecutive bases, none of them unknown. */
@FunctionalInterface
public interface FragmentSink {
  /**
   * Takes one fragment. A sequence longer than a fragment comes as several that overlap, so that
   * every k-mer lies in exactly one.
   *
   * @param codes bases as 0 to 3 for A, C, G and T; valid during the call only
   * @param length number of bases, at most {@link SequenceReader#MAX_FRAGMENT}
   */
  void fragment(byte[] codes, int length);
}
