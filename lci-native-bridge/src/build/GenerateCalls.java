/* SPDX-License-Identifier: Apache-2.0 */
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Writes the two implementations of {@code NativeCalls}, so that each signature is written by hand
 * once. The build runs it before it compiles:
 *
 * <pre>java GenerateCalls.java NativeCalls.java FOLDER</pre>
 *
 * <p>{@code FOLDER/java} gets {@code JnaCalls}, {@code FOLDER/java22} gets {@code FfmCalls}. A file
 * that would not change is left alone, so that the compiler need not run again.
 */
final class GenerateCalls {

  private static final Set<String> PARAMETERS = Set.of("int", "long");
  private static final Set<String> RESULTS = Set.of("int", "long", "void");

  private static final String HEAD =
      """
      /* SPDX-License-Identifier: Apache-2.0 */
      package io.lci.nativebridge;

      """;

  private static final String JNA =
      """
      /**
       * {@link NativeCalls} by JNA direct mapping: JNA binds each method to its function. Generated from
       * {@code NativeCalls.java} by {@code src/build/GenerateCalls.java}.
       */
      final class JnaCalls implements NativeCalls {
      %s}
      """;

  private static final String JNA_METHOD =
      """

        @Override
        public native %s %s(%s);
      """;

  private static final String FFM =
      """
      import java.lang.invoke.MethodHandle;

      /**
       * {@link NativeCalls} by {@code java.lang.foreign}: a downcall handle for each function. Generated
       * from {@code NativeCalls.java} by {@code src/build/GenerateCalls.java}.
       */
      final class FfmCalls implements NativeCalls {

      %s%s}
      """;

  private static final String FFM_HANDLE =
      """
        private static final MethodHandle %s = FfmLink.handle("%s");
      """;

  private static final String FFM_METHOD =
      """

        @Override
        public %s %s(%s) {
          try {
            %s%s.invokeExact(%s);
          } catch (Throwable failure) {
            throw FfmLink.thrown(failure);
          }
        }
      """;

  private GenerateCalls() {}

  private record Parameter(String type, String name) {}

  private record Call(String result, String name, List<Parameter> parameters) {

    String declared() {
      return parameters.stream()
          .map(parameter -> parameter.type() + " " + parameter.name())
          .collect(Collectors.joining(", "));
    }

    String passed() {
      return parameters.stream().map(Parameter::name).collect(Collectors.joining(", "));
    }

    String constant() {
      return name.replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT);
    }

    String byJna() {
      return JNA_METHOD.formatted(result, name, declared());
    }

    String handle() {
      return FFM_HANDLE.formatted(constant(), name);
    }

    String byForeign() {
      String answer = result.equals("void") ? "" : "return (" + result + ") ";
      return FFM_METHOD.formatted(result, name, declared(), answer, constant(), passed());
    }
  }

  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 2) {
      System.err.println("usage: java GenerateCalls.java NativeCalls.java FOLDER");
      System.exit(2);
    }
    Path source = Path.of(arguments[0]);
    Path folder = Path.of(arguments[1]);
    List<Call> calls;
    try {
      calls = calls(source);
    } catch (IllegalArgumentException e) {
      System.err.println(source + ": " + e.getMessage());
      System.exit(1);
      return;
    }
    String place = "io/lci/nativebridge/";
    write(
        folder.resolve("java").resolve(place + "JnaCalls.java"),
        HEAD + JNA.formatted(joined(calls, Call::byJna)));
    write(
        folder.resolve("java22").resolve(place + "FfmCalls.java"),
        HEAD + FFM.formatted(joined(calls, Call::handle), joined(calls, Call::byForeign)));
  }

  private static String joined(List<Call> calls, java.util.function.Function<Call, String> part) {
    return calls.stream().map(part).collect(Collectors.joining());
  }

  /** The methods of the interface in their order, as the compiler of this JDK reads them. */
  private static List<Call> calls(Path source) throws IOException {
    JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    if (javac == null) {
      throw new IllegalArgumentException("this Java has no compiler to read it with");
    }
    try (StandardJavaFileManager files = javac.getStandardFileManager(null, null, null)) {
      Iterable<? extends JavaFileObject> units = files.getJavaFileObjects(source);
      JavacTask task = (JavacTask) javac.getTask(null, files, null, null, null, units);
      CompilationUnitTree unit = task.parse().iterator().next();
      Set<String> names = new HashSet<>();
      List<Call> calls = new ArrayList<>();
      for (Tree member : ((ClassTree) unit.getTypeDecls().get(0)).getMembers()) {
        Call call = call(member);
        if (!names.add(call.name())) {
          throw new IllegalArgumentException("two methods " + call.name() + " for one function");
        }
        calls.add(call);
      }
      if (calls.isEmpty()) {
        throw new IllegalArgumentException("no method in it");
      }
      return calls;
    }
  }

  private static Call call(Tree member) {
    if (!(member instanceof MethodTree method) || method.getBody() != null) {
      throw new IllegalArgumentException("not an abstract method: " + member);
    }
    List<Parameter> parameters = new ArrayList<>();
    for (VariableTree parameter : method.getParameters()) {
      String type = known(parameter.getType(), PARAMETERS, method);
      parameters.add(new Parameter(type, parameter.getName().toString()));
    }
    String result = known(method.getReturnType(), RESULTS, method);
    return new Call(result, method.getName().toString(), parameters);
  }

  private static String known(Tree type, Set<String> allowed, MethodTree method) {
    if (!allowed.contains(type.toString())) {
      throw new IllegalArgumentException(
          method.getName() + ": only primitives cross, int and long, not " + type);
    }
    return type.toString();
  }

  private static void write(Path file, String text) throws IOException {
    if (Files.exists(file) && Files.readString(file).equals(text)) {
      return;
    }
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }
}
