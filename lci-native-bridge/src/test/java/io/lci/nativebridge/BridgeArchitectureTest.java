/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The bridge stands on JNA and the JDK alone, and shows nothing of JNA. */
class BridgeArchitectureTest {

  private static final JavaClasses BRIDGE =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.lci.nativebridge");

  @Test
  void classesWereRead() {
    assertThat(BRIDGE.contain(NativeCalls.class)).isTrue();
    assertThat(BRIDGE.contain(LibraryOpener.class)).isTrue();
    assertThat(BRIDGE.get(JnaAccess.class).getDirectDependenciesFromSelf())
        .as("that the bridge uses JNA is seen")
        .anyMatch(dependency -> dependency.getTargetClass().getName().startsWith("com.sun.jna."));
  }

  @Test
  void standsOnJnaAndTheJdk() {
    classes()
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "io.lci.nativebridge", "java..", "com.sun.jna", "org.jspecify.annotations"))
        .check(BRIDGE);
  }

  /** So that a JVM that does without JNA need not load a class of it. */
  @Test
  void oneClassUsesJna() {
    noClasses()
        .that()
        .doNotBelongToAnyOf(JnaAccess.class)
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.sun.jna..")
        .check(BRIDGE);
  }

  @Test
  void noSignatureOfAPublicClassShowsJna() {
    methods()
        .that()
        .areDeclaredInClassesThat()
        .arePublic()
        .and()
        .areNotPrivate()
        .should()
        .notHaveRawReturnType(resideInAPackage("com.sun.jna.."))
        .andShould()
        .notHaveRawParameterTypes(
            describe(
                "with a type of JNA",
                parameters -> parameters.stream().anyMatch(resideInAPackage("com.sun.jna.."))))
        .check(BRIDGE);
  }
}
