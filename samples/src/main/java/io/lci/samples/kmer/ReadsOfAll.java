/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.samples.reads.BadInputException;
import java.nio.file.Path;
import java.util.List;

/** The sizes of the files of reads, as this rank sees them and as all do. */
final class ReadsOfAll {
  private final List<Path> files;
  private final long[] sizes;

  ReadsOfAll(List<Path> files) {
    this.files = files;
    this.sizes = files.stream().mapToLong(KmerJob::fileSize).toArray();
  }

  /** The sizes, then what is most where they are least: their greatest ones tell both bounds. */
  long[] bounds() {
    long[] bounds = new long[2 * sizes.length];
    for (int i = 0; i < sizes.length; i++) {
      bounds[i] = sizes[i];
      bounds[sizes.length + i] = -sizes[i];
    }
    return bounds;
  }

  /**
   * Looks whether all see the same.
   *
   * @param greatest of the bounds of all ranks
   * @throws BadInputException if not
   */
  void check(long[] greatest) {
    for (int i = 0; i < sizes.length; i++) {
      long least = -greatest[sizes.length + i];
      if (least != greatest[i]) {
        throw new BadInputException(
            files.get(i),
            "has "
                + sizes[i]
                + " bytes here, and from "
                + least
                + " to "
                + greatest[i]
                + " on all ranks: each must see the same file, and nobody may write to it");
      }
    }
  }
}
