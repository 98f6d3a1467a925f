/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.walls;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A list of frozen violations refuses a new one and one that is gone, and is never written. */
class FrozenListTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter().importClasses(First.class, Second.class);

  private static final ArchRule NO_ENUMS =
      noClasses().that().resideInAPackage("io.lci.walls").should().beEnums();

  @TempDir Path folder;

  private enum First {}

  private enum Second {}

  /** Checks the rule that there is no enum against a list of these names. */
  private void check(String... names) throws IOException {
    Path list = folder.resolve("list");
    Files.write(list, List.of(names));
    try {
      FrozenList.except(
              list, violation -> violation.replaceFirst(".*[$]([A-Za-z]+)>.*", "$1"), NO_ENUMS)
          .check(CLASSES);
    } finally {
      assertThat(list).hasContent(String.join("\n", names));
      assertThat(folder.toFile().list()).hasSize(1);
    }
  }

  @Test
  void frozenViolationsPass() throws IOException {
    check("First", "Second");
  }

  @Test
  void aNewViolationFails() {
    assertThatThrownBy(() -> check("First"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("was violated (1 times)")
        .hasMessageContaining("Second");
  }

  @Test
  void aLineThatIsNoLongerViolatedFails() {
    assertThatThrownBy(() -> check("First", "Gone", "Second"))
        .isInstanceOf(AssertionError.class)
        .hasMessageEndingWith("delete the lines\nGone");
  }

  @Test
  void aListThatIsNotSortedOrHasALineTwiceFails() {
    assertThatThrownBy(() -> check("Second", "First")).hasMessageContaining("sorted");
    assertThatThrownBy(() -> check("First", "First", "Second")).hasMessageContaining("sorted");
  }
}
