/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;

/**
 * The jar of the sources has those of every class in the jar; only where the packed jar is tested.
 */
class SourcesJarTest {

  @Test
  void everyClassHasItsSource() throws IOException, URISyntaxException {
    Path jar =
        Path.of(NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    boolean isPacked = jar.toString().endsWith(".jar");
    if (!isPacked) {
      System.out.println("SKIPPED: the classes under test are not in a jar");
    }
    assumeTrue(isPacked, "the classes under test are not in a jar");
    Set<String> classes = entries(jar, ".class");
    classes.removeIf(name -> name.contains("$"));
    if ("ffm".equals(System.getProperty("lci.test.calls"))) { // else perhaps built without them
      assertThat(classes).anyMatch(name -> name.startsWith("META-INF/versions/22/"));
    }
    assertThat(classes).isNotEmpty();
    Path sources =
        jar.resolveSibling(jar.getFileName().toString().replaceAll("\\.jar$", "-sources.jar"));
    assertThat(entries(sources, ".java")).containsAll(classes);
  }

  /** Names in a jar, without the ending. */
  private static Set<String> entries(Path jar, String ending) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.stream()
          .map(ZipEntry::getName)
          .filter(name -> name.endsWith(ending))
          .map(name -> name.substring(0, name.length() - ending.length()))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }
}
