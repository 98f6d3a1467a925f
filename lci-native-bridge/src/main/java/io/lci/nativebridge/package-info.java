/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The binding of the C ABI {@code lci.h}, and the loader of {@code liblci.so}. Not an API for
 * users: only {@code lci-reactive} depends on it, and nothing of it appears in a public signature
 * there.
 *
 * <ul>
 *   <li>{@link io.lci.nativebridge.NativeLibrary} finds, loads and checks the library.
 *   <li>{@link io.lci.nativebridge.NativeCalls} is one method per C function, primitives only:
 *       addresses are {@code long}. JNA makes them on every JVM, {@code java.lang.foreign} on 22
 *       and newer: classes {@code Ffm*}, from {@code src/main/java22}, in the jar under {@code
 *       META-INF/versions/22}. The same means opens the library and wraps memory, so where it is
 *       {@code java.lang.foreign}, no class of JNA is loaded. The build generates both classes of
 *       calls from the interface.
 *   <li>{@link io.lci.nativebridge.Layout} and {@link io.lci.nativebridge.Codes} mirror the
 *       structures and constants.
 *   <li>{@link io.lci.nativebridge.NativeMemory} maps native regions, once each, as byte buffers.
 * </ul>
 *
 * <p>No type of the binding's library appears in a signature of this package. On JDK 24 and newer
 * the JVM warns about native access from the class path; {@code --enable-native-access=ALL-UNNAMED}
 * (with modules: {@code io.lci.nativebridge}) is the permission.
 */
@NullMarked
package io.lci.nativebridge;

import org.jspecify.annotations.NullMarked;
