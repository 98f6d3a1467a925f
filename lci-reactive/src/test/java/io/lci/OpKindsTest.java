/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Payload;
import io.lci.am.Port;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** Each kind of operation has its own options: what cannot apply does not compile. */
class OpKindsTest {
  private static final Port PORT = Port.of(6, "kinds");
  private static final String AM = "Op.am(1, port, payload)";
  private static final String REPLY = "Op.reply(1, port, payload)";
  private static final String SEND = "Op.send(1, 7, payload)";
  private static final String RECEIVE = "Op.receive(1, 7, 8)";
  private static final String PUT = "Op.put(memory, 0, payload)";
  private static final String GET = "Op.get(memory, 0, 8)";
  private static final String ATOMIC = "Op.getAndAdd(memory, 0, 1)";
  private static final String BARRIER = "Op.barrier()";

  @TempDir @Nullable Path classes;

  /** A class of a program, in a package of its own, with one expression. */
  private static final class Program extends SimpleJavaFileObject {
    private final String expression;

    Program(String expression) {
      super(URI.create("string:///user/Program.java"), Kind.SOURCE);
      this.expression = expression;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return """
          package user;
          import io.lci.*;
          import io.lci.am.*;
          import io.lci.matching.*;
          import io.lci.rma.*;
          import java.util.stream.Stream;
          class Program {
            Object of(Port port, Payload payload, RemoteMemory memory, MatchingEngine engine, int n) {
              return %s;
            }
          }
          """
          .formatted(expression);
    }
  }

  private static String home(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Compiles it; returns the codes of the errors. */
  private List<String> errors(String expression) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    String path =
        Stream.of(Op.class, Mono.class, Publisher.class, Nullable.class)
            .map(OpKindsTest::home)
            .collect(Collectors.joining(":"));
    List<String> options = List.of("-proc:none", "-cp", path, "-d", String.valueOf(classes));
    compiler.getTask(null, null, found, options, null, List.of(new Program(expression))).call();
    return found.getDiagnostics().stream()
        .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
        .map(Diagnostic::getCode)
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        AM + ".tag(1L).replyTo(port).userContext(1)",
        AM + ".userContext(1).replyTo(port)",
        AM + ".advanced(a -> a.device(1).semantic(Op.Semantic.NETWORK).allowDone(false))",
        REPLY + ".tag(1L).advanced(a -> a.semantic(Op.Semantic.NETWORK).allowRetry(false))",
        SEND
            + ".engine(engine).advanced(a -> a.device(1).matching(Op.Policy.TAG).allowRetry(true))",
        RECEIVE + ".engine(engine).advanced(a -> a.matching(Op.Policy.TAG).device(1))",
        PUT + ".signal(port, 1).advanced(a -> a.device(1).allowDone(false))",
        GET + ".signal(port, 1).advanced(a -> a.allowRetry(false).device(1))",
        ATOMIC + ".advanced(a -> a.allowDone(false).device(1))",
        BARRIER + ".userContext(1).advanced(a -> a.allowRetry(false))",
        "Stream.of(1, 2).map(i -> i > n ? " + AM + " : " + GET + ").map(op -> op.userContext(n))",
      })
  void whatAppliesCompiles(String expression) {
    assertThat(errors(expression)).isEmpty();
  }

  /** The compiler finds no such method, at most an accessor of that name: nothing else is wrong. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        AM + ".signal(port, 1)",
        AM + ".engine(engine)",
        AM + ".device(1)",
        AM + ".advanced(a -> a.matching(Op.Policy.TAG))",
        REPLY + ".replyTo(port)",
        SEND + ".replyTo(port)",
        SEND + ".signal(port, 1)",
        SEND + ".tag(1L)",
        RECEIVE + ".signal(port, 1)",
        RECEIVE + ".advanced(a -> a.allowDone(false))",
        RECEIVE + ".advanced(a -> a.semantic(Op.Semantic.NETWORK))",
        PUT + ".engine(engine)",
        PUT + ".tag(1L)",
        PUT + ".advanced(a -> a.semantic(Op.Semantic.NETWORK))",
        GET + ".payload()",
        GET + ".advanced(a -> a.matching(Op.Policy.TAG))",
        ATOMIC + ".signal(port, 1)",
        ATOMIC + ".tag(1L)",
        ATOMIC + ".advanced(a -> a.semantic(Op.Semantic.NETWORK))",
        BARRIER + ".engine(engine)",
        BARRIER + ".advanced(a -> a.device(1))",
        BARRIER + ".advanced(a -> a.allowDone(false))",
        "((Op) " + AM + ").advanced(a -> a.device(1))",
      })
  void whatCannotApplyDoesNotCompile(String expression) {
    assertThat(errors(expression))
        .singleElement()
        .asString()
        .containsPattern("^compiler\\.err\\.cant\\.(resolve|apply)");
  }

  @Test
  void anOperationStaysAsItWasMade() {
    AmOp first = Op.am(1, PORT, Payload.empty());
    List<AmOp.Advanced> kept = new ArrayList<>();
    AmOp second =
        first
            .tag(7)
            .userContext(3)
            .deadline(Duration.ofSeconds(1))
            .advanced(a -> kept.add(a.device(2)));
    assertThat(second.tag()).isEqualTo(7);
    assertThat(second.userContext()).isEqualTo(3);
    assertThat(second.device()).isEqualTo(2);
    assertThat(first.tag()).isZero();
    assertThat(first.userContext()).isZero();
    assertThat(first.deadline()).isNull();
    assertThat(first.device()).isZero();
    assertThatThrownBy(() -> kept.get(0).device(5)).isInstanceOf(IllegalStateException.class);
    assertThat(second.device()).isEqualTo(2);
  }

  /** Options of one kind keep those of all, and the other way round. */
  @Test
  void optionsKeepEachOther() {
    AmOp op =
        Op.am(1, PORT, Payload.empty())
            .advanced(a -> a.allowRetry(false).semantic(Op.Semantic.NETWORK))
            .replyTo(PORT)
            .userContext(9)
            .tag(5);
    assertThat(op.retryAllowed()).isFalse();
    assertThat(op.doneAllowed()).isTrue();
    assertThat(op.semantic()).isEqualTo(Op.Semantic.NETWORK);
    assertThat(op.replyTo()).isEqualTo(PORT);
    assertThat(op.userContext()).isEqualTo(9);
    assertThat(op.tag()).isEqualTo(5);
    assertThat(op.toString()).startsWith("am to rank 1 port ");
  }
}
