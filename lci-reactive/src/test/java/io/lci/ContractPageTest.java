/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.rpc.RpcHandler;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;

/**
 * Every publisher of the API, but what users implement, has its row in docs/contract.md, and its
 * course in time in docs/guide/backpressure.md.
 */
class ContractPageTest {
  private static final Pattern NAME = Pattern.compile("`([A-Za-z]+\\.)?([A-Za-z]+)([^`]*)`");

  /** Bold words, text, and a block. */
  private static final Pattern DIAGRAM =
      Pattern.compile(
          "^\\*\\*([^*]+)\\*\\*[^*]*?\n```\n.+?\n```$", Pattern.DOTALL | Pattern.MULTILINE);

  /** Such as {@code Inbox.receive}. */
  private static Set<String> publishers() throws IOException, URISyntaxException {
    Path home =
        Path.of(LciRuntime.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    if (Files.isDirectory(home)) {
      return publishers(home);
    }
    try (FileSystem jar = FileSystems.newFileSystem(home)) {
      return publishers(jar.getPath("/"));
    }
  }

  private static Set<String> publishers(Path home) throws IOException {
    try (Stream<Path> files = Files.walk(home.resolve("io/lci"))) {
      return files
          .map(file -> home.relativize(file).toString())
          .filter(name -> name.endsWith(".class") && !name.startsWith("io/lci/internal/"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .filter(name -> !name.endsWith("-info"))
          .map(ContractPageTest::loaded)
          .filter(type -> Modifier.isPublic(type.getModifiers()) && type != RpcHandler.class)
          .flatMap(type -> Stream.of(type.getDeclaredMethods()))
          .filter(method -> Publisher.class.isAssignableFrom(method.getReturnType()))
          .filter(method -> Modifier.isPublic(method.getModifiers()))
          .map(method -> method.getDeclaringClass().getSimpleName() + '.' + method.getName())
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static Class<?> loaded(String name) {
    try {
      return Class.forName(name, false, LciRuntime.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String page(String name) throws IOException {
    Path home = Path.of(System.getProperty("lci.native.source")).getParent();
    return Files.readString(home.resolve("docs").resolve(name));
  }

  /** Names in backquotes in the first cell of a row; after the first, of the same type. */
  private static Set<String> rows(String page) {
    Set<String> named = new TreeSet<>();
    for (String line : page.lines().filter(line -> line.startsWith("| `")).toList()) {
      String type = "";
      for (String word : line.substring(2, line.indexOf(" |", 2)).split("[^A-Za-z.]+")) {
        int dot = word.indexOf('.');
        if (dot > 0) {
          type = word.substring(0, dot + 1);
          named.add(word);
        } else {
          named.add(type + word);
        }
      }
    }
    return named;
  }

  /**
   * Names in backquotes in the bold words before a diagram; after the first, of the same type. The
   * two {@code LciRuntime.post} differ in what they take.
   */
  private static Set<String> diagrams(String page) {
    int from = page.indexOf("\n## Each publisher in time\n");
    int to = page.indexOf("\n## ", from + 1);
    Set<String> named = new TreeSet<>();
    for (MatchResult diagram : DIAGRAM.matcher(page.substring(from, to)).results().toList()) {
      String type = "";
      for (MatchResult name : NAME.matcher(diagram.group(1)).results().toList()) {
        type = name.group(1) == null ? type : name.group(1);
        named.add(type + name.group(2));
        named.add(type + name.group(2) + name.group(3));
      }
    }
    return named;
  }

  @Test
  void everyPublisherHasItsRow() throws IOException, URISyntaxException {
    Set<String> publishers = publishers();
    assertThat(publishers).hasSizeGreaterThan(30).contains("Inbox.receive", "LciRuntime.post");
    assertThat(rows(page("contract.md"))).containsAll(publishers);
  }

  @Test
  void everyPublisherHasItsDiagram() throws IOException, URISyntaxException {
    assertThat(diagrams(page("guide/backpressure.md")))
        .containsAll(publishers())
        .contains("LciRuntime.post(Op)", "LciRuntime.post(Publisher)")
        .contains("RpcHandler.requestChannel"); // its requests
  }
}
