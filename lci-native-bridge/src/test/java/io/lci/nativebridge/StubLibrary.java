/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Small libraries that the loader may or may not take, made by the C compiler that the build needs
 * anyway.
 */
final class StubLibrary {

  /** In a stub it answers what the last function noted. */
  static final String LAST_CALLED = "lci_last_error_rank";

  private StubLibrary() {}

  /** Every function, and the right layout: the loader takes it. Its version is the text given. */
  static Path complete(Path file, String version) {
    return compile(file, source(version, LayoutTest.rightValues(), Set.of()));
  }

  static Path withLayout(Path file, long[] layout) {
    return compile(file, source("0.0.0", layout, Set.of()));
  }

  static Path without(Path file, Set<String> functions) {
    return compile(file, source("0.0.0", LayoutTest.rightValues(), functions));
  }

  /** A library of the same name by somebody else. */
  static Path stranger(Path file) {
    return compile(file, "int stranger(void) { return 1; }\n");
  }

  /** Needs a library that is gone. */
  static Path orphan(Path file) throws IOException {
    Path needed =
        compile(file.resolveSibling("liblcineeded.so"), "int needed(void) { return 1; }\n");
    compile(
        file, "int needed(void); int lci_layout(void) { return needed(); }\n", needed.toString());
    Files.delete(needed);
    return file;
  }

  private static String source(String version, long[] layout, Set<String> left) {
    Set<String> skip = new HashSet<>(left);
    StringBuilder c = new StringBuilder("#include <stdint.h>\nstatic int64_t called;\n");
    if (skip.add("lci_version")) {
      c.append("const char* lci_version(void) { return \"").append(version).append("\"; }\n");
    }
    if (skip.add("lci_layout")) {
      c.append("uint32_t lci_layout(uint64_t* out, uint32_t count) {\n");
      for (int i = 0; i < layout.length; i++) {
        c.append("  if (count > ")
            .append(i)
            .append(") out[")
            .append(i)
            .append("] = ")
            .append(layout[i])
            .append("ll;\n");
      }
      c.append("  return ").append(layout.length).append(";\n}\n");
    }
    if (skip.add(LAST_CALLED)) {
      c.append("int32_t ").append(LAST_CALLED).append("(void) { return (int32_t)called; }\n");
    }
    for (Method method : NativeCalls.class.getDeclaredMethods()) {
      if (skip.add(Symbols.of(method))) {
        c.append(noting(method));
      }
    }
    return c.toString();
  }

  /** A function that notes which it is and what it was given, and returns that. */
  private static String noting(Method method) {
    Class<?>[] types = method.getParameterTypes();
    StringBuilder parameters = new StringBuilder();
    StringBuilder value = new StringBuilder("called = " + called(Symbols.of(method), List.of()));
    for (int i = 0; i < types.length; i++) {
      parameters.append(i == 0 ? "" : ", ").append(cType(types[i])).append(" p").append(i);
      value.append(" + ").append(i + 1).append(" * (int64_t)p").append(i);
    }
    String result = cType(method.getReturnType());
    return "%s %s(%s) { %s%s; }\n"
        .formatted(
            result,
            Symbols.of(method),
            parameters.isEmpty() ? "void" : parameters,
            result.equals("void") ? "" : "return ",
            value);
  }

  /** What a function that was given these arguments notes. */
  static long called(String function, List<? extends Number> arguments) {
    long value = function.hashCode() & 0xFFFF;
    for (int i = 0; i < arguments.size(); i++) {
      value += (i + 1) * arguments.get(i).longValue();
    }
    return value;
  }

  private static String cType(Class<?> type) {
    return type == void.class ? "void" : type == int.class ? "int32_t" : "int64_t";
  }

  private static Path compile(Path file, String source, String... more) {
    try {
      Path code = Files.writeString(file.resolveSibling(file.getFileName() + ".c"), source);
      List<String> command =
          new ArrayList<>(
              List.of("cc", "-shared", "-fPIC", "-o", file.toString(), code.toString()));
      command.addAll(List.of(more));
      Process cc = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(cc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!cc.waitFor(60, TimeUnit.SECONDS) || cc.exitValue() != 0) {
        cc.destroyForcibly();
        throw new IllegalStateException(command + ": " + output);
      }
      Files.delete(code);
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
