/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

/**
 * The native core that this JVM has loaded: one, for all its runtimes.
 *
 * @param version the library's version, "major.minor.patch"
 * @param source where the library came from, for people
 * @param calls what calls it: {@code "jna"}, or {@code "ffm"} for {@code java.lang.foreign} on Java
 *     22 and newer. Chosen by itself; system property {@code lci.native.calls} with one of {@code
 *     auto}, {@code jna} and {@code ffm} says otherwise
 * @param callsReason why it is this one, for people
 * @since 0.1
 */
public record CoreInfo(String version, String source, String calls, String callsReason) {}
