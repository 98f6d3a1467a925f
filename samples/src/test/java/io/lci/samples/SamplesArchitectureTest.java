/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The samples are written as a user would write them: against the public packages alone. */
class SamplesArchitectureTest {

  private static final JavaClasses SAMPLES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.lci.samples");

  @Test
  void samplesWereReadAndUseTheLibrary() {
    assertThat(SAMPLES.size()).isGreaterThan(5);
    assertThat(SAMPLES.stream().flatMap(sample -> sample.getDirectDependenciesFromSelf().stream()))
        .anyMatch(dependency -> dependency.getTargetClass().getName().equals("io.lci.LciRuntime"));
  }

  @Test
  void samplesUsePublicPackagesOnly() {
    noClasses()
        .that()
        .resideInAPackage("io.lci.samples..")
        .and()
        .resideOutsideOfPackage("io.lci.samples.bench.boundary") // measures the bridge itself
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.lci..")
                .and(
                    DescribedPredicate.not(
                        resideInAnyPackage(
                            "io.lci",
                            "io.lci.am",
                            "io.lci.rma",
                            "io.lci.completion",
                            "io.lci.collective",
                            "io.lci.stream",
                            "io.lci.rpc",
                            "io.lci.error",
                            "io.lci.metrics",
                            "io.lci.samples.."))))
        .check(SAMPLES);
  }

  @Test
  void samplesDoNotReachBelowTheLibrary() {
    noClasses()
        .that()
        .resideInAPackage("io.lci.samples..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("com.sun.jna..", "sun.misc..", "jdk.internal..")
        .check(SAMPLES);
  }
}
