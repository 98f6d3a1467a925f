/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.samples.kmer.KmerCount;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;

/**
 * All samples under one roof: {@code Samples NAME ARGUMENTS}, and {@code Samples --help} lists
 * them.
 */
@Command(
    name = "samples",
    mixinStandardHelpOptions = true,
    description = "Programs that show the library at work.",
    synopsisSubcommandLabel = "NAME",
    subcommands = {KmerCount.class, SimulateReads.class, Hello.class, PingPong.class, Echo.class})
public final class Samples {
  private static final int FAILED = 1;
  private static final String FIRST_RANK = "0";

  private Samples() {}

  /** Runs the named sample. */
  public static void main(String[] args) {
    run(new Samples(), args);
  }

  /** The example of the README, under a name. */
  @Command(name = "readme-example", description = "The example of the README.")
  int readmeExample() {
    ReadmeExample.main(new String[0]);
    return 0;
  }

  /** Runs a command and ends the process: 0 done, 1 failed, 2 wrong arguments, or what it says. */
  public static void run(Object command, String[] args) {
    System.exit(execute(command, args));
  }

  /** Runs a command; errors are one line each, not a page of usage. */
  static int execute(Object command, String[] args) {
    return new CommandLine(command)
        .setParameterExceptionHandler(Samples::wrongArguments)
        .setExecutionExceptionHandler(Samples::failed)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .execute(args);
  }

  /** Writes one line about a failure to standard error. */
  public static void complain(String program, String message) {
    System.err.println(program + ": " + message.replace('\n', ' '));
  }

  private static int wrongArguments(ParameterException e, String[] args) {
    CommandLine command = e.getCommandLine();
    if (speaksForTheJob()) {
      PrintWriter err = command.getErr();
      String name = command.getCommandName();
      err.println(name + ": " + e.getMessage() + " (see " + name + " --help)");
      err.flush();
    }
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }

  private static int failed(Exception e, CommandLine command, CommandLine.ParseResult parsed)
      throws Exception {
    if (e instanceof java.io.IOException
        || e instanceof UncheckedIOException
        || e instanceof IllegalArgumentException
        || e instanceof io.lci.samples.reads.BadInputException
        || e instanceof io.lci.error.LciException) {
      complain(command.getCommandName(), String.valueOf(e.getMessage()));
      return FAILED;
    }
    throw e;
  }

  /** All ranks get the same arguments: one of them says what is wrong. */
  private static boolean speaksForTheJob() {
    String rank = System.getenv("LCI_RANK");
    return rank == null || rank.equals(FIRST_RANK);
  }
}
