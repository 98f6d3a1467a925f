/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * All that is public or protected in the modules with an API has Javadoc, with every parameter and
 * result. The compiler only warns of what is missing.
 */
class JavadocTest {
  private static final Pattern PUBLIC_TYPE = Pattern.compile("(?m)^public ");
  private static final Pattern SINCE = Pattern.compile("(?m)^ \\* @since \\d");

  @TempDir Path work;

  /** What doclint says of these files, under the code that it has with the compiler. */
  private List<String> complaints(List<Path> files) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(found, null, null)) {
      List<String> options =
          List.of(
              "--release",
              "17",
              "-proc:none",
              "-Xmaxwarns",
              "1000",
              "-Xdoclint:all/protected",
              "-Xdoclint/package:-io.lci.internal,-io.lci.internal.*",
              "-classpath",
              System.getProperty("java.class.path"),
              "-d",
              work.toString());
      compiler
          .getTask(
              new StringWriter(),
              manager,
              found,
              options,
              null,
              manager.getJavaFileObjectsFromPaths(files))
          .call();
    }
    return found.getDiagnostics().stream()
        .filter(d -> d.getKind() == Diagnostic.Kind.ERROR || d.getCode().endsWith(".proc.messager"))
        .map(
            d ->
                (d.getSource() == null ? "" : d.getSource().getName())
                    + ":"
                    + d.getLineNumber()
                    + ": "
                    + d.getMessage(null))
        .toList();
  }

  static List<Path> sources(String module) {
    Path home = Path.of(System.getProperty("lci.native.source")).getParent();
    try (Stream<Path> files = Files.walk(home.resolve(module).resolve("src/main/java"))) {
      return files.filter(file -> file.toString().endsWith(".java")).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"lci-reactive", "lci-metrics"})
  void nothingPublicGoesWithoutAWord(String module) throws IOException {
    List<Path> files = sources(module);
    assertThat(files).hasSizeGreaterThan(15);
    assertThat(complaints(files)).isEmpty();
  }

  /** Which of these files have a public type that does not say since when it is there. */
  private static List<Path> ageless(List<Path> files) {
    return files.stream()
        .filter(file -> !file.toString().contains("/internal/"))
        .filter(
            file -> {
              String text = read(file);
              return PUBLIC_TYPE.matcher(text).find() && !SINCE.matcher(text).find();
            })
        .toList();
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"lci-reactive", "lci-metrics"})
  void everyPublicTypeSaysSinceWhen(String module) {
    assertThat(ageless(sources(module))).isEmpty();
  }

  @Test
  void itWouldBeSeen() throws IOException {
    Path file = Files.createDirectories(work.resolve("io/lci")).resolve("Bare.java");
    Files.writeString(
        file,
        """
        package io.lci;

        /** Not all of it is documented. */
        public interface Bare {
          int one();

          /** Says something. */
          int two();

          /** {@return something} */
          int three(int given);
        }
        """);
    assertThat(complaints(List.of(file)))
        .satisfiesExactly(
            one -> assertThat(one).contains(":5: ", "no comment"),
            two -> assertThat(two).contains(":8: ", "no @return"),
            three -> assertThat(three).contains(":11: ", "no @param for given"));
    assertThat(ageless(List.of(file))).containsExactly(file);
  }
}
