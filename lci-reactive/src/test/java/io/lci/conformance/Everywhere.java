/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import io.lci.testing.LciLeakCheck;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ArgumentsSource;

/**
 * A test of rows of the specification that every rank of a job runs alike, over each transport:
 *
 * <pre>{@code
 * @Everywhere
 * void whatIsSentArrives(Setting everywhere) {
 *   everywhere.run(world -> ...);
 * }
 * }</pre>
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedTest(name = "{0}")
@ArgumentsSource(Settings.class)
@ExtendWith(LciLeakCheck.class)
@interface Everywhere {}
