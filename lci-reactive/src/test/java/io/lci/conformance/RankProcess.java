/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import io.lci.LciRuntime;
import io.lci.conformance.RankProcesses.Task;
import io.lci.testing.LciLeakCheck;
import java.io.EOFException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** One rank of {@link RankProcesses}: reads what to do, answers how it went. */
final class RankProcess {
  private RankProcess() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // what a test prints is no answer
    ObjectOutputStream to = new ObjectOutputStream(answers);
    to.flush();
    ObjectInputStream from = new ObjectInputStream(System.in);
    while (true) {
      try {
        to.writeObject(run((Task) from.readObject()));
        to.flush();
      } catch (EOFException ended) {
        return;
      }
    }
  }

  /** Returns what failed, or nothing. */
  private static String run(Task task) {
    LciRuntime used = null;
    try (LciRuntime lci = LciRuntime.create(Setting.options(task.attributes()))) {
      used = lci;
      World world = new World(lci);
      task.body().run(world);
      world.barrier(); // who has done its part may be needed by others
    } catch (Throwable e) {
      StringWriter text = new StringWriter();
      e.printStackTrace(new PrintWriter(text));
      return text.toString();
    }
    List<String> faults = LciLeakCheck.faultsOf("rank " + used.rank(), used.snapshot());
    return String.join("; ", faults);
  }
}
