/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import io.lci.testing.LciTestProcess;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Processes that are the ranks of one job after the other: each body gets a new job directory and
 * new runtimes. They end when this JVM does, for they read from it.
 */
final class RankProcesses {
  /** What a process is to do. */
  record Task(Body body, HashMap<String, String> attributes) implements Serializable {}

  private static final Map<Integer, RankProcesses> STARTED = new HashMap<>();
  private static final long PATIENCE_SECONDS = 100;

  private final List<Process> processes = new ArrayList<>();
  private final List<ObjectOutputStream> to = new ArrayList<>();
  private final List<ObjectInputStream> from = new ArrayList<>();

  private RankProcesses(int size) throws IOException {
    List<String> options = List.of("-Xmx128m");
    for (int rank = 0; rank < size; rank++) {
      Process process =
          LciTestProcess.java(RankProcess.class, options)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      processes.add(process);
      to.add(new ObjectOutputStream(process.getOutputStream()));
    }
    for (Process process : processes) {
      from.add(new ObjectInputStream(process.getInputStream()));
    }
  }

  /** Those that have run before, or new ones. */
  static synchronized RankProcesses of(int size) {
    try {
      RankProcesses known = STARTED.get(size);
      if (known == null || !known.processes.stream().allMatch(Process::isAlive)) {
        known = new RankProcesses(size);
        STARTED.put(size, known);
      }
      return known;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs the body on each rank; fails with what the first that failed says. */
  void run(Body body, Map<String, String> attributes) {
    Path folder = null;
    try {
      folder = Files.createTempDirectory("lci-conformance");
      Path job = LciTestProcess.jobDirectory(folder.resolve("job"));
      List<CompletableFuture<String>> answers = new ArrayList<>();
      for (int rank = 0; rank < processes.size(); rank++) {
        HashMap<String, String> all = new HashMap<>(attributes);
        all.put("job_dir", job.toString());
        all.put("job_rank", Integer.toString(rank));
        all.put("job_size", Integer.toString(processes.size()));
        to.get(rank).writeObject(new Task(body, all));
        to.get(rank).flush();
        ObjectInputStream answer = from.get(rank);
        answers.add(CompletableFuture.supplyAsync(() -> read(answer)));
      }
      awaitAll(answers);
    } catch (Exception | AssertionError e) {
      processes.forEach(Process::destroyForcibly); // they may wait for each other
      throw new AssertionError(processes.size() + " processes: " + e.getMessage(), e);
    } finally {
      delete(folder);
    }
  }

  /** Fails when the first does: others may wait for it in vain. */
  private static void awaitAll(List<CompletableFuture<String>> answers) throws Exception {
    CompletableFuture<Void> all =
        CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new));
    CompletableFuture<Object> failed = new CompletableFuture<>();
    for (int rank = 0; rank < answers.size(); rank++) {
      String who = "rank " + rank + ": ";
      answers
          .get(rank)
          .thenAccept(
              failure -> {
                if (!failure.isEmpty()) {
                  failed.completeExceptionally(new AssertionError(who + failure));
                }
              });
    }
    try {
      CompletableFuture.anyOf(failed, all).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      if (failed.isDone()) {
        failed.get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError(e.getCause().getMessage(), e.getCause());
    }
  }

  private static String read(ObjectInputStream from) {
    try {
      return (String) from.readObject();
    } catch (IOException | ClassNotFoundException e) {
      return "the process ended: " + e;
    }
  }

  private static void delete(Path folder) {
    if (folder == null) {
      return;
    }
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
