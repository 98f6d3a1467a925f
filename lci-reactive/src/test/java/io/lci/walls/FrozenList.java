/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.walls;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.freeze.FreezingArchRule;
import com.tngtech.archunit.library.freeze.ViolationStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.function.UnaryOperator;

/**
 * The violations of a rule that were there when the rule was added, one name to a line. No test
 * writes the list: a new violation fails, and so does a line that is no longer violated. ArchUnit's
 * own store rewrites its files, and takes its settings from a file on the class path, where the
 * published test jar would bring it to users.
 */
final class FrozenList implements ViolationStore {
  private final Path file;

  private FrozenList(Path file) {
    this.file = file;
  }

  /**
   * The rule, but for the violations of the list.
   *
   * @param name makes the name of a violation, as it stands in the list, of its description; leaves
   *     names as they are
   */
  static ArchRule except(Path file, UnaryOperator<String> name, ArchRule rule) {
    return FreezingArchRule.freeze(rule)
        .persistIn(new FrozenList(file))
        .associateViolationLinesVia((one, other) -> name.apply(one).equals(name.apply(other)));
  }

  @Override
  public void initialize(Properties properties) {}

  @Override
  public boolean contains(ArchRule rule) {
    return true;
  }

  @Override
  public List<String> getViolations(ArchRule rule) {
    try {
      List<String> lines = Files.readAllLines(file);
      assertThat(lines)
          .as("%s: sorted, each line once", file)
          .containsExactlyElementsOf(new TreeSet<>(lines));
      return lines;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** ArchUnit calls this when violations are gone. */
  @Override
  public void save(ArchRule rule, List<String> left) {
    List<String> gone = new ArrayList<>(getViolations(rule));
    gone.removeAll(left);
    throw new AssertionError(
        file + ": these are no violations any more; delete the lines\n" + String.join("\n", gone));
  }
}
