/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.lci.rpc.RpcHandler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;

/** Every publisher of the API has its row in docs/contract.md. */
class ContractPageTest {
  /** Such as {@code Inbox.receive}. */
  private static Set<String> publishers() {
    return new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.lci").stream()
                .filter(type -> !type.getPackageName().startsWith("io.lci.internal"))
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(type -> !type.isEquivalentTo(RpcHandler.class)) // the user's own
                .flatMap(type -> type.getMethods().stream())
                .filter(method -> method.getRawReturnType().isAssignableTo(Publisher.class))
                .filter(method -> !method.getModifiers().contains(JavaModifier.PRIVATE))
                .map(ContractPageTest::name)
                .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String name(JavaMethod method) {
    return method.getOwner().getSimpleName() + '.' + method.getName();
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

  @Test
  void everyPublisherHasItsRow() throws IOException {
    Set<String> publishers = publishers();
    assertThat(publishers).hasSizeGreaterThan(30).contains("Inbox.receive", "LciRuntime.post");
    assertThat(rows(page("contract.md"))).containsAll(publishers);
  }
}
