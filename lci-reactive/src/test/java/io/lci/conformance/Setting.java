/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.testing.LciTestJob;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Where a test runs: over which ranks, and with which attributes. */
record Setting(String name, int ranks, boolean processes, Map<String, String> attributes) {

  /** The same with one more attribute. */
  Setting with(String attribute, String value) {
    Map<String, String> more = new HashMap<>(attributes);
    more.put(attribute, value);
    return new Setting(name, ranks, processes, more);
  }

  /** Runs the body on each rank of a new job; fails as the first rank that fails does. */
  void run(Body body) {
    if (processes) {
      RankProcesses.of(ranks).run(body, attributes);
    } else {
      runThreads(body);
    }
  }

  private void runThreads(Body body) {
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try (LciTestJob job = LciTestJob.start(ranks, options(attributes))) {
      CompletionService<Void> running = new ExecutorCompletionService<>(threads);
      for (LciRuntime each : job.ranks()) {
        running.submit(
            () -> {
              body.run(new World(each));
              return null;
            });
      }
      for (int ended = 0; ended < ranks; ended++) {
        running.take().get(); // the first that fails tells why: others may wait for it in vain
      }
    } catch (ExecutionException e) {
      throw new AssertionError(this + ": " + e.getCause(), e.getCause());
    } catch (InterruptedException e) {
      throw new AssertionError(this + ": out of time", e);
    } finally {
      threads.shutdownNow();
    }
  }

  /** Small packet pools: hundreds of jobs run on small machines. */
  static LciOptions options(Map<String, String> attributes) {
    LciOptions.Builder options =
        LciOptions.builder().attribute("packets", "64").attribute("packets_max", "256");
    attributes.forEach(options::attribute);
    return options.build();
  }

  @Override
  public String toString() {
    return name;
  }
}
