/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * The means of a JVM to reach native code and memory: JNA, or {@code java.lang.foreign}. Any
 * thread.
 */
interface NativeAccess {

  /**
   * Links a file: at once and whole, so that all that is missing is found, and such that no symbol
   * leaks into other libraries.
   *
   * @throws UnusableLibraryException with the words of the linker, if it refuses the file
   */
  SharedLibrary open(Path file) throws UnusableLibraryException;

  /** A direct buffer over memory, of any byte order. Nothing keeps the memory alive. */
  ByteBuffer buffer(long address, long size);

  /** Address of byte 0 of a direct buffer, whatever its position. */
  long address(ByteBuffer direct);

  /** The C string in UTF-8 at an address. */
  String string(long address);

  /** A linked file. Closed, it is unmapped, unless it was told to stay. */
  interface SharedLibrary extends AutoCloseable {

    /** Address of a function; 0 if there is none of that name. */
    long find(String symbol);

    /** Calls {@code lci_layout}, which must be there, before anything is bound. */
    int layout(long out, int count);

    /**
     * Keeps the library where it is for as long as the process lives.
     *
     * @throws UnusableLibraryException if the file went away meanwhile
     */
    void stay() throws UnusableLibraryException;

    /** Binds every function of {@link NativeCalls}, all of which must be there. */
    NativeCalls bind();

    @Override
    void close();
  }
}
