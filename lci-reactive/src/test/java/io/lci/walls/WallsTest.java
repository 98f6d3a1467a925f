/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.walls;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
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
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The walls inside this module. The violations that were there when this test was added are frozen
 * in lists in {@code src/test/walls}, and in one number below; {@code docs/internals/walls.md}
 * tells how they shrink.
 */
class WallsTest {
  /** The classes of {@code io.lci.internal} that depend on each other in a circle. */
  private static final int LARGEST_CYCLE = 13;

  /** A line of jdeps, without the names of nested classes. */
  private static final Pattern DEPENDENCY =
      Pattern.compile("^ +(io[.]lci[.]internal[.][\\w.]+)\\S* +-> (io[.]lci[.]internal[.][\\w.]+)");

  private static final int DEEPEST_INHERITANCE = 3;

  private static final JavaClasses LCI =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.lci");

  private static Path list(String name) {
    Path home = Path.of(System.getProperty("lci.native.source")).getParent();
    return home.resolve("lci-reactive/src/test/walls").resolve(name);
  }

  @Test
  void classesWereRead() {
    assertThat(LCI.contain(LciRuntime.class)).isTrue();
    assertThat(LCI.contain("io.lci.internal.Runtimes")).isTrue();
    assertThat(LCI.contain("io.lci.walls.WallsTest")).isFalse();
  }

  @Test
  void packagesAreFreeOfCycles() {
    FrozenList.except(
            list("cycles.frozen"),
            WallsTest::slicesOfCycle,
            slices().matching("io.lci.(*)..").should().beFreeOfCycles())
        .check(LCI);
  }

  /** The slices alone, without their dependencies: {@code am -> completion -> am}. */
  private static String slicesOfCycle(String violation) {
    return violation
        .replaceFirst("(?s)\n *1\\. Dependencies.*", "")
        .replace("Cycle detected: ", "")
        .replace("Slice ", "")
        .replaceAll("\\s+", " ");
  }

  @Test
  void internalPackagesAreFreeOfCycles() {
    slices().matching("io.lci.internal.(*)..").should().beFreeOfCycles().check(LCI);
  }

  @Test
  void theCycleOfInternalClassesShrinks() throws URISyntaxException {
    SortedSet<String> cycle = ClassCycles.largest(internalDependencies());
    assertThat(cycle.size())
        .as(
            "classes of io.lci.internal in one cycle; if there are fewer, lower LARGEST_CYCLE;"
                + " if there are more, one of these has joined: %s",
            cycle)
        .isEqualTo(LARGEST_CYCLE);
  }

  /**
   * Names of outermost classes, each with those that it or a class nested in it depends on. From
   * jdeps, since ArchUnit does not see a dependency on a constant, which the compiler copies.
   */
  private static Map<String, Set<String>> internalDependencies() throws URISyntaxException {
    Path classes =
        Path.of(LciRuntime.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter lines = new StringWriter();
    PrintWriter out = new PrintWriter(lines);
    int code =
        ToolProvider.findFirst("jdeps")
            .orElseThrow()
            .run(out, out, "-v", "--ignore-missing-deps", classes.toString());
    assertThat(code).as(lines.toString()).isZero();
    Map<String, Set<String>> targets = new TreeMap<>();
    lines
        .toString()
        .lines()
        .map(DEPENDENCY::matcher)
        .filter(Matcher::find)
        .forEach(
            found ->
                targets
                    .computeIfAbsent(found.group(1), name -> new TreeSet<>())
                    .add(found.group(2)));
    assertThat(targets).containsKey("io.lci.internal.EventLoop");
    return targets;
  }

  @Test
  void inheritanceIsShallow() {
    FrozenList.except(
            list("inheritance.frozen"),
            violation -> violation.replaceFirst(": .*", ""),
            classes().should(notBeDeeperThan(DEEPEST_INHERITANCE)))
        .check(LCI);
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

  private static Map<String, Set<String>> graph(String... arrows) {
    Map<String, Set<String>> targets = new TreeMap<>();
    for (String arrow : arrows) {
      targets
          .computeIfAbsent(arrow.substring(0, 1), name -> new TreeSet<>())
          .add(arrow.substring(1));
    }
    return targets;
  }

  @Test
  void theLargestCycleIsFound() {
    assertThat(ClassCycles.largest(graph("ab", "bc", "cd"))).hasSize(1);
    assertThat(ClassCycles.largest(graph("ab", "ba", "bc", "cd", "de", "ec", "ef", "fa")))
        .containsExactly("a", "b", "c", "d", "e", "f");
    assertThat(ClassCycles.largest(graph("ab", "ba", "bc", "cd", "de", "ec", "xa", "ey")))
        .containsExactly("c", "d", "e");
  }
}
