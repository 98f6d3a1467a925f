/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.conditions.ArchConditions.not;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaType;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.lci.LciRuntime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The arrows between the modules, seen from the module that has all of them on its class path. */
class ModuleArrowsTest {

  private static final String[] BRIDGE_AND_JNA = {"io.lci.nativebridge..", "com.sun.jna.."};

  private static final JavaClasses LCI =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(location -> !location.contains("-tests.jar"))
          .importPackages("io.lci");

  @Test
  void classesOfEveryModuleWereRead() {
    assertThat(LCI.contain(LciRuntime.class)).isTrue();
    assertThat(LCI.contain(LciMetrics.class)).isTrue();
    assertThat(LCI.contain("io.lci.nativebridge.NativeCalls")).isTrue();
    assertThat(LCI.contain("io.lci.internal.runtime.Runtimes")).isTrue();
    assertThat(LCI.size()).isGreaterThan(60);
  }

  @Test
  void jnaIsUsedInTheBridgeAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.lci.nativebridge..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.sun.jna..")
        .check(LCI);
  }

  @Test
  void onlyInternalsOfTheReactiveModuleUseTheBridge() {
    noClasses()
        .that()
        .resideOutsideOfPackages("io.lci.nativebridge..", "io.lci.internal..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.lci.nativebridge..")
        .check(LCI);
  }

  @Test
  void theBridgeKnowsNobodyAboveIt() {
    noClasses()
        .that()
        .resideInAPackage("io.lci.nativebridge..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.lci..")
                .and(
                    com.tngtech.archunit.base.DescribedPredicate.not(
                        resideInAPackage("io.lci.nativebridge.."))))
        .check(LCI);
  }

  @Test
  void micrometerIsUsedInTheMetricsAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.lci.metrics..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.micrometer..")
        .check(LCI);
  }

  @Test
  void metricsStandOnThePublicInterfacesAlone() {
    noClasses()
        .that()
        .resideInAPackage("io.lci.metrics..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.lci.internal..", "io.lci.nativebridge..", "com.sun.jna..")
        .check(LCI);
  }

  @Test
  void noPublicSignatureShowsTheBridgeJnaOrInternals() {
    classes()
        .that()
        .resideInAPackage("io.lci..")
        .and()
        .resideOutsideOfPackages("io.lci.nativebridge..", "io.lci.internal..")
        .and()
        .arePublic()
        .should(not(show("io.lci.nativebridge.", "com.sun.jna.", "io.lci.internal.")))
        .check(LCI);
  }

  @Test
  void theLookAtSignaturesSeesTypesAndTheirArguments() {
    assertThat(signatureTypes(LCI.get(LciRuntime.class)))
        .extracting(JavaClass::getName)
        .contains(
            "reactor.core.publisher.Mono",
            "io.lci.completion.Completion",
            "java.lang.AutoCloseable");
  }

  /**
   * Types of visible fields, methods and constructors, with their type arguments, and supertypes.
   */
  private static ArchCondition<JavaClass> show(String... prefixes) {
    return new ArchCondition<>("show types of " + String.join(", ", prefixes)) {
      @Override
      public void check(JavaClass owner, ConditionEvents events) {
        for (JavaClass shown : signatureTypes(owner)) {
          for (String prefix : prefixes) {
            if (shown.getName().startsWith(prefix)) {
              events.add(
                  SimpleConditionEvent.satisfied(
                      owner, owner.getName() + " shows " + shown.getName()));
            }
          }
        }
      }
    };
  }

  private static List<JavaClass> signatureTypes(JavaClass owner) {
    List<JavaType> types = new ArrayList<>(owner.getInterfaces());
    owner.getSuperclass().ifPresent(types::add);
    for (JavaField field : owner.getFields()) {
      if (isVisible(field.getModifiers())) {
        types.add(field.getType());
      }
    }
    for (JavaCodeUnit unit : owner.getCodeUnits()) {
      if (isVisible(unit.getModifiers())) {
        types.add(unit.getReturnType());
        types.addAll(unit.getParameterTypes());
      }
    }
    return types.stream().flatMap(type -> type.getAllInvolvedRawTypes().stream()).toList();
  }

  private static boolean isVisible(java.util.Set<JavaModifier> modifiers) {
    return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
  }
}
