/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;

/**
 * A result file that appears whole or not at all: written beside its place and moved there by
 * {@link #commit()}. The name "-" is standard output; pipes and devices are written directly too.
 */
final class OutputFile implements Closeable {
  private static final int BUFFER = 1 << 16;

  private final @Nullable Path target;
  private final @Nullable Path temporary;
  private final OutputStream stream;

  private OutputFile(@Nullable Path target, @Nullable Path temporary, OutputStream out) {
    this.target = target;
    this.temporary = temporary;
    this.stream = new BufferedOutputStream(out, BUFFER);
  }

  static OutputFile create(String name) throws IOException {
    if (name.equals("-")) {
      return new OutputFile(null, null, new FileOutputStream(FileDescriptor.out));
    }
    Path target = Path.of(name);
    if (Files.exists(target) && !Files.isRegularFile(target)) {
      return new OutputFile(null, null, Files.newOutputStream(target));
    }
    Path folder = target.toAbsolutePath().getParent();
    Path temporary = Files.createTempFile(folder, "." + target.getFileName(), ".part");
    return new OutputFile(target, temporary, Files.newOutputStream(temporary));
  }

  OutputStream stream() {
    return stream;
  }

  /** Everything is written: the file takes its place. */
  void commit() throws IOException {
    stream.flush();
    if (target != null && temporary != null) {
      stream.close();
      makeReadable(temporary);
      try {
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
      } catch (AtomicMoveNotSupportedException e) {
        Files.move(temporary, target, StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  /** Temporary files are the owner's alone; results are like any other file. */
  private static void makeReadable(Path file) {
    file.toFile().setReadable(true, false);
  }

  /** Removes what was written unless it was committed. */
  @Override
  public void close() throws IOException {
    if (temporary != null) {
      stream.close();
      Files.deleteIfExists(temporary);
    }
  }
}
