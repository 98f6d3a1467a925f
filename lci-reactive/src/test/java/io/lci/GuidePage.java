/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A page of {@code docs/guide}: its blocks of Java are what stands in a test class between {@code
 * // show: NAME} and {@code // end}, where it is compiled and run, or a whole source below {@code
 * <!-- file: PATH -->}, from its first import on.
 */
public final class GuidePage {
  private static final String FILE = "file: ";

  private GuidePage() {}

  /**
   * Fails unless the page shows every snippet of the class, and no other Java.
   *
   * @param page file name, for example {@code "rma.md"}
   * @param test the class with the snippets
   * @param snippets how many there are, so that a marker which no longer matches is noticed
   */
  public static void assertShows(String page, Class<?> test, int snippets) throws IOException {
    Path home = Path.of(System.getProperty("lci.native.source")).getParent();
    String file = "src/test/java/" + test.getName().replace('.', '/') + ".java";
    Path source =
        Stream.of("lci-reactive", "lci-metrics")
            .map(module -> home.resolve(module).resolve(file))
            .filter(Files::exists)
            .findFirst()
            .orElseThrow();
    Map<String, String> compiled = compiled(Files.readAllLines(source));
    assertThat(compiled).hasSize(snippets);
    Map<String, String> shown = shown(Files.readAllLines(home.resolve("docs/guide").resolve(page)));
    for (String name : List.copyOf(shown.keySet())) {
      if (name.startsWith(FILE)) {
        compiled.put(name, program(home.resolve(name.substring(FILE.length()))));
      }
    }
    assertThat(shown).isEqualTo(compiled);
  }

  private static String program(Path source) throws IOException {
    String text = Files.readString(source);
    return text.substring(text.indexOf("import ")).strip();
  }

  private static Map<String, String> compiled(List<String> lines) {
    Map<String, String> snippets = new LinkedHashMap<>();
    String name = null;
    List<String> body = new ArrayList<>();
    for (String line : lines) {
      String text = line.strip();
      if (text.startsWith("// show: ")) {
        name = text.substring("// show: ".length());
      } else if (text.equals("// end")) {
        snippets.put(name, String.join("\n", body).stripIndent());
        name = null;
        body.clear();
      } else if (name != null) {
        body.add(line);
      }
    }
    return snippets;
  }

  /**
   * Blocks of Java below a comment {@code <!-- shown: name -->}, or {@code <!-- file: path -->}.
   */
  private static Map<String, String> shown(List<String> lines) {
    Map<String, String> snippets = new LinkedHashMap<>();
    String name = null;
    boolean inside = false;
    List<String> body = new ArrayList<>();
    for (String line : lines) {
      if (line.startsWith("<!-- shown: ")) {
        name = line.substring("<!-- shown: ".length(), line.indexOf(" -->"));
      } else if (line.startsWith("<!-- " + FILE)) {
        name = line.substring("<!-- ".length(), line.indexOf(" -->"));
      } else if (line.equals("```java")) {
        assertThat(name).as("a block of Java that no test compiles").isNotNull();
        inside = true;
      } else if (line.equals("```") && inside) {
        snippets.put(name, String.join("\n", body));
        inside = false;
        name = null;
        body.clear();
      } else if (inside) {
        body.add(line);
      }
    }
    return snippets;
  }
}
