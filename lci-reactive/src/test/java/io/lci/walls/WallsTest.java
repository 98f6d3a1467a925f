/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.walls;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.lci.LciRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The walls inside this module; {@code docs/internals/walls.md} lists them. */
class WallsTest {
  private static final int DEEPEST_INHERITANCE = 3;

  private static final JavaClasses LCI =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.lci");

  @Test
  void classesWereRead() {
    assertThat(LCI.contain(LciRuntime.class)).isTrue();
    assertThat(LCI.contain("io.lci.internal.runtime.Runtimes")).isTrue();
    assertThat(LCI.contain("io.lci.walls.WallsTest")).isFalse();
  }

  @Test
  void packagesAreFreeOfCycles() {
    slices().matching("io.lci.(*)..").should().beFreeOfCycles().check(LCI);
  }

  @Test
  void internalPackagesAreFreeOfCycles() {
    slices().matching("io.lci.internal.(*)..").should().beFreeOfCycles().check(LCI);
  }

  /** From the lowest room to the highest; a room may use those of lower floors. */
  private static final List<List<String>> FLOORS =
      List.of(
          List.of("core"),
          List.of("loop"),
          List.of("lane"),
          List.of("post"),
          List.of("inbox", "completion", "memory", "collective"),
          List.of("session"),
          List.of("groupstream"),
          List.of("runtime"));

  @Test
  void everyInternalClassIsInARoom() {
    Set<String> rooms =
        FLOORS.stream()
            .flatMap(List::stream)
            .map(room -> "io.lci.internal." + room)
            .collect(Collectors.toSet());
    assertThat(
            LCI.stream()
                .map(JavaClass::getPackageName)
                .filter(name -> name.startsWith("io.lci.internal")))
        .isSubsetOf(rooms)
        .containsAll(rooms);
  }

  @Test
  void roomsUseOnlyThoseOfLowerFloors() {
    for (int floor = 0; floor < FLOORS.size(); floor++) {
      for (String room : FLOORS.get(floor)) {
        String[] others =
            FLOORS.subList(floor, FLOORS.size()).stream()
                .flatMap(List::stream)
                .filter(other -> !other.equals(room))
                .map(other -> "io.lci.internal." + other + "..")
                .toArray(String[]::new);
        if (others.length > 0) {
          noClasses()
              .that()
              .resideInAPackage("io.lci.internal." + room + "..")
              .should()
              .dependOnClassesThat()
              .resideInAnyPackage(others)
              .check(LCI);
        }
      }
    }
  }

  /** Its descriptor is compiled after the tests, so this reads the source. */
  @Test
  void theModuleExportsThePublicPackagesAlone() throws IOException {
    Path home = Path.of(System.getProperty("lci.native.source")).getParent();
    String descriptor =
        Files.readString(home.resolve("lci-reactive/src/main/module/module-info.java"));
    List<String> exported =
        Pattern.compile("exports ([^;]+);")
            .matcher(descriptor)
            .results()
            .map(match -> match.group(1))
            .toList();
    assertThat(exported)
        .containsExactlyElementsOf(
            LCI.stream()
                .map(JavaClass::getPackageName)
                .filter(name -> !name.startsWith("io.lci.internal"))
                .filter(name -> !name.startsWith("io.lci.nativebridge"))
                .collect(Collectors.toCollection(TreeSet::new)));
  }

  @Test
  void inheritanceIsShallow() {
    classes().should(notBeDeeperThan(DEEPEST_INHERITANCE)).check(LCI);
  }

  private static ArchCondition<JavaClass> notBeDeeperThan(int levels) {
    return new ArchCondition<>("have at most " + levels + " levels of classes of this library") {
      @Override
      public void check(JavaClass type, ConditionEvents events) {
        String chain = chain(type).map(JavaClass::getSimpleName).collect(Collectors.joining(" < "));
        if (chain(type).count() > levels) {
          events.add(SimpleConditionEvent.violated(type, type.getName() + ": " + chain));
        }
      }
    };
  }

  /** The class and those of its superclasses that belong to this library. */
  private static Stream<JavaClass> chain(JavaClass type) {
    return Stream.concat(Stream.of(type), type.getAllRawSuperclasses().stream())
        .filter(parent -> LCI.contain(parent.getName()));
  }
}
