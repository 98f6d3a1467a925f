/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The Javadoc of every public method of the API that gives a publisher names the thread of its
 * signals, what cancel does, and an error; of a stream, what demand does. What its type says
 * counts, and what other methods of the type say that it refers to.
 */
class PublisherJavadocTest {
  private static final Pattern PUBLISHER = Pattern.compile("(Mono|Flux|Publisher)<.*");
  private static final Pattern REFERENCE = Pattern.compile("\\{@link\\s+#(\\w+)");
  private static final Map<String, Pattern> WANTED =
      new TreeMap<>(
          Map.of(
              "cancel", Pattern.compile("\\b[Cc]ancel"),
              "error", Pattern.compile("[a-z]Exception\\b"),
              "thread", Pattern.compile("\\b(loop|thread(?!-safe))\\b")));

  /**
   * What a stream says besides: who asks for its elements, and what becomes of those not asked for.
   */
  private static final Pattern DEMAND =
      Pattern.compile("\\b([Dd]emand|[Rr]equest|[Bb]ackpressure)");

  /** What it says of threads and errors is not about all the publishers that it gives. */
  private static final String ENTRY = "LciRuntime";

  @TempDir Path work;

  /** The publishers of these files, and what is not said of each. */
  private static Map<String, List<String>> unsaid(List<Path> files) throws IOException {
    Map<String, List<String>> unsaid = new TreeMap<>();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
      JavacTask task =
          (JavacTask)
              compiler.getTask(
                  null, manager, null, null, null, manager.getJavaFileObjectsFromPaths(files));
      Types types = new Types(DocTrees.instance(task), unsaid);
      for (CompilationUnitTree file : task.parse()) {
        if (!file.getPackageName().toString().startsWith("io.lci.internal")) {
          types.scan(file, null);
        }
      }
    }
    return unsaid;
  }

  private static final class Types extends TreePathScanner<Void, Void> {
    private final DocTrees docs;
    private final Map<String, List<String>> unsaid;

    Types(DocTrees docs, Map<String, List<String>> unsaid) {
      this.docs = docs;
      this.unsaid = unsaid;
    }

    private String comment(TreePath path) {
      String text = docs.getDocComment(path);
      return text == null ? "" : text;
    }

    @Override
    public Void visitClass(ClassTree type, Void none) {
      String name = type.getSimpleName().toString();
      String ofType = name.equals(ENTRY) ? "" : comment(getCurrentPath());
      List<MethodTree> methods =
          type.getMembers().stream()
              .filter(MethodTree.class::isInstance)
              .map(MethodTree.class::cast)
              .toList();
      for (MethodTree method : methods) {
        boolean isPublic =
            type.getKind() == Tree.Kind.INTERFACE
                || method.getModifiers().getFlags().contains(Modifier.PUBLIC);
        if (isPublic && PUBLISHER.matcher(String.valueOf(method.getReturnType())).matches()) {
          String text = ofType + followed(comment(path(method)), methods);
          Map<String, Pattern> wanted = new TreeMap<>(WANTED);
          if (!method.getReturnType().toString().startsWith("Mono<")) {
            wanted.put("demand", DEMAND);
          }
          unsaid.put(
              name + '.' + method.getName() + '(' + method.getParameters() + ')',
              wanted.entrySet().stream()
                  .filter(one -> !one.getValue().matcher(text).find())
                  .map(Map.Entry::getKey)
                  .toList());
        }
      }
      return super.visitClass(type, none);
    }

    /** Anonymous classes are not the API's. */
    @Override
    public Void visitMethod(MethodTree method, Void none) {
      return none;
    }

    private TreePath path(MethodTree method) {
      return new TreePath(getCurrentPath(), method);
    }

    /** The text, with those of the methods that it refers to. */
    private String followed(String text, List<MethodTree> methods) {
      StringBuilder all = new StringBuilder(text);
      Set<String> seen = new HashSet<>();
      for (Matcher m = REFERENCE.matcher(all); m.find(); ) {
        if (seen.add(m.group(1))) {
          methods.stream()
              .filter(method -> method.getName().contentEquals(m.group(1)))
              .forEach(method -> all.append(comment(path(method))));
          m.reset();
        }
      }
      return all.toString();
    }
  }

  @Test
  void everyPublisherSaysWhereItSignalsAndHowItEnds() throws IOException {
    Map<String, List<String>> unsaid =
        unsaid(
            Stream.of("lci-reactive", "lci-metrics")
                .flatMap(module -> JavadocTest.sources(module).stream())
                .toList());
    assertThat(unsaid).hasSizeGreaterThan(45);
    unsaid.values().removeIf(List::isEmpty);
    assertThat(unsaid).isEmpty();
  }

  @Test
  void itWouldBeSeen() throws IOException {
    Path file = Files.createDirectories(work.resolve("io/lci")).resolve("Bare.java");
    Files.writeString(
        file,
        """
        package io.lci;

        /** Thread-safe. Cancel detaches. */
        public interface Bare {
          /** {@return something} */
          Mono<Void> bare();

          /** {@return something on loop 0; fails with {@link IllegalStateException}} */
          Mono<Void> whole();

          /** {@return somethings on loop 0; fails with {@link IllegalStateException}} */
          Flux<Void> stream();

          /** {@return as {@link #whole()}} */
          Mono<Void> refers();

          int another();
        }
        """);
    assertThat(unsaid(List.of(file)))
        .containsOnly(
            Map.entry("Bare.bare()", List.of("error", "thread")),
            Map.entry("Bare.whole()", List.of()),
            Map.entry("Bare.stream()", List.of("demand")),
            Map.entry("Bare.refers()", List.of()));
  }
}
