/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.NativeLoadException;
import io.lci.error.PeerFailedException;
import io.lci.samples.allreduce.AllReduce;
import io.lci.samples.array.DistributedArrayCheck;
import io.lci.samples.barrier.GraphBarrierCheck;
import io.lci.samples.heat.Heat;
import io.lci.samples.kmer.KmerCount;
import io.lci.samples.kv.KvService;
import io.lci.samples.reads.BadInputException;
import io.lci.samples.rpc.RpcEcho;
import io.lci.samples.slow.SlowConsumer;
import io.lci.samples.words.WordCount;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * All samples under one roof: {@code Samples NAME ARGUMENTS}, and {@code Samples --help} lists
 * them. Usage texts say what is typed: the launcher's command.
 */
@Command(
    name = "./lci run -n N",
    mixinStandardHelpOptions = true,
    description = "Programs that show the library at work.",
    synopsisSubcommandLabel = "NAME")
public final class Samples {
  private static final List<Map.Entry<String, Class<?>>> SAMPLES =
      List.of(
          Map.entry("kmer", KmerCount.class),
          Map.entry("simulate-reads", SimulateReads.class),
          Map.entry("hello", Hello.class),
          Map.entry("ping-pong", PingPong.class),
          Map.entry("many-to-many", ManyToMany.class),
          Map.entry("array", DistributedArrayCheck.class),
          Map.entry("graph-barrier", GraphBarrierCheck.class),
          Map.entry("allreduce", AllReduce.class),
          Map.entry("heat", Heat.class),
          Map.entry("word-count", WordCount.class),
          Map.entry("rpc", RpcCalls.class),
          Map.entry("rpc-echo", RpcEcho.class),
          Map.entry("echo", Echo.class),
          Map.entry("slow-consumer", SlowConsumer.class),
          Map.entry("metrics", MetricsEndpoint.class),
          Map.entry("kv-service", KvService.class));

  /** Exit code: bad input, or whatever has no code of its own. */
  public static final int FAILED = 1;

  /** Exit code: another rank died. Not 3, by which a JVM says that it is out of memory. */
  public static final int PEER_FAILED = 4;

  /** Largest port of TCP. */
  public static final int MOST_PORT = 65_535;

  private static final Set<String> SAME_FOR_ALL = Set.of("error_attribute", "error_no_memory");
  private static final String FIRST_RANK = "0";
  private static final long PATIENCE_MILLIS = 2_000;

  private Samples() {}

  /** Runs the named sample. */
  public static void main(String[] args) {
    run(new Samples(), args);
  }

  /** The example of the README, under a name. */
  @Command(
      name = "readme-example",
      mixinStandardHelpOptions = true,
      description = "A million numbers from each rank to the next: the example of the README.")
  int readmeExample() {
    ReadmeExample.main(new String[0]);
    return 0;
  }

  /** The program of the quick start, under a name. */
  @Command(
      name = "tour",
      mixinStandardHelpOptions = true,
      description = "Messages, calls and remote memory in one program: that of the quick start.")
  int tour() {
    Tour.main(new String[0]);
    return 0;
  }

  /**
   * The samples as commands: the one that is named, or all. To read the options of all takes longer
   * than the rest of a small sample's start.
   */
  static CommandLine samples(String... args) {
    String named = args.length == 0 ? "" : args[0];
    boolean known = SAMPLES.stream().anyMatch(sample -> sample.getKey().equals(named));
    CommandLine line = new CommandLine(new Samples());
    for (Map.Entry<String, Class<?>> sample : SAMPLES) {
      if (!known || sample.getKey().equals(named)) {
        line.addSubcommand(sample.getKey(), sample.getValue());
      }
    }
    return line;
  }

  /** Runs a command and ends the process: 0 done, 1 failed, 2 wrong arguments, or what it says. */
  public static void run(Object command, String[] args) {
    System.exit(execute(command, args));
  }

  /** Runs a command; errors are one line each, not a page of usage. */
  static int execute(Object command, String[] args) {
    CommandLine line =
        (command instanceof Samples ? samples(args) : new CommandLine(command))
            .setParameterExceptionHandler(Samples::wrongArguments)
            .setExecutionExceptionHandler(Samples::failed)
            .setCaseInsensitiveEnumValuesAllowed(true);
    if (!isFirstRank()) {
      line.setOut(new PrintWriter(Writer.nullWriter())); // help, which is the same for all
    }
    return line.execute(args);
  }

  /** Writes one line about a failure to standard error. */
  public static void complain(String program, String message) {
    System.err.println(program + ": " + message.replace('\n', ' '));
  }

  /** Refuses what was typed, if it is wrong; all ranks find out alike, before they join. */
  public static void require(@Nullable CommandSpec spec, boolean right, String message) {
    if (!right && spec != null) {
      throw new ParameterException(spec.commandLine(), message);
    }
  }

  /** The port on which this rank listens: the first rank's and its rank; 0 for any. */
  public static int portOf(LciRuntime lci, int first) {
    if (first == 0) {
      return 0;
    }
    int ports = MOST_PORT + 1 - first;
    if (ports < lci.size()) {
      throw new IllegalArgumentException("--port " + first + " leaves no port for rank " + ports);
    }
    return first + lci.rank();
  }

  private static int wrongArguments(ParameterException e, String[] args) {
    CommandLine command = e.getCommandLine();
    CommandSpec spec = command.getCommandSpec();
    complainOnce(spec.name(), e.getMessage() + " (see " + spec.qualifiedName() + " --help)");
    return spec.exitCodeOnInvalidInput();
  }

  private static int failed(Exception e, CommandLine command, CommandLine.ParseResult parsed)
      throws Exception {
    boolean expected =
        e instanceof IOException
            || e instanceof UncheckedIOException
            || e instanceof IllegalArgumentException
            || e instanceof BadInputException
            || e instanceof LciException;
    if (!expected) {
      throw e;
    }
    String message = String.valueOf(e.getMessage());
    if (isSameForAll(e)) {
      complainOnce(command.getCommandName(), message);
    } else {
      complain(command.getCommandName(), message);
    }
    if (e instanceof LciClosedException closed && closed.isFenced()) {
      return LciClosedException.EXIT_FENCED;
    }
    return e instanceof PeerFailedException ? PEER_FAILED : FAILED;
  }

  /**
   * Whether all ranks fail alike: they have the same arguments, options, library and machine. What
   * fails over a file or a socket is a rank's own: another program may have this rank's port.
   */
  private static boolean isSameForAll(Exception e) {
    if (e instanceof LciException failure) {
      return failure instanceof NativeLoadException || SAME_FOR_ALL.contains(failure.code());
    }
    return !(e instanceof IOException || e instanceof UncheckedIOException);
  }

  /**
   * All ranks get the same arguments and options, so one of them says what is wrong. The others
   * wait for it, because the first that fails may end the job. Whoever is still there then says it
   * too: perhaps the first has had no processor yet.
   */
  private static void complainOnce(String program, String message) {
    if (!isFirstRank()) {
      try {
        Thread.sleep(PATIENCE_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    complain(program, message);
  }

  /** By the launcher's word, without a runtime; alone everyone is the first. */
  private static boolean isFirstRank() {
    String rank = System.getenv("LCI_RANK");
    return rank == null || rank.equals(FIRST_RANK);
  }
}
