/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.words;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.collective.GroupStreams;
import io.lci.collective.StreamOptions;
import io.lci.samples.Samples;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Counts the words of a text. Each rank reads a part, and a shuffle brings each word to the rank
 * that counts it. Rank 0 gathers the counts and writes them in order, as {@code uniq -c} does.
 */
@Command(
    name = "word-count",
    mixinStandardHelpOptions = true,
    description = {
      "Counts the words of a text across all ranks of the job.",
      "The output is that of: LC_ALL=C tr -cs 'A-Za-z' '\\n' < FILE | LC_ALL=C sort | uniq -c"
    })
public final class WordCount implements Callable<Integer> {
  private static final int WINDOW = 1_024;

  /** Words are short: more of them may be under way. */
  private static final StreamOptions MANY = StreamOptions.builder().windowItems(WINDOW).build();

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      defaultValue = "-",
      description = "Where rank 0 writes the counts. \"-\", the default, is standard output.")
  String output = "-";

  @Parameters(paramLabel = "FILE", description = "The text.")
  @Nullable Path file;

  @Spec @Nullable CommandSpec spec;

  /** How often a word was there. */
  record Count(String word, long times) {
    static final Codec<Count> CODEC =
        Codec.of(
            (count, out) -> out.putLong(count.times).putUtf8(count.word),
            in -> {
              byte[] word = new byte[in.size() - Long.BYTES];
              in.getBytes(Long.BYTES, word, 0, word.length);
              return new Count(new String(word, StandardCharsets.UTF_8), in.getLong(0));
            });
  }

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new WordCount(), args);
  }

  @Override
  public Integer call() throws IOException {
    Path text = file;
    if (text == null || !Files.isReadable(text) || Files.isDirectory(text)) {
      Samples.require(spec, false, text + " is no file that can be read");
      return Samples.FAILED;
    }
    try (LciRuntime lci = LciRuntime.create()) {
      Map<String, Long> counts = run(lci, text).block();
      if (counts != null) {
        write(counts);
      }
      return 0;
    }
  }

  /** Takes part; on rank 0 emits the counts by word, on the others nothing. */
  static Mono<Map<String, Long>> run(LciRuntime lci, Path text) {
    GroupStreams streams = lci.world().streams();
    Mono<Map<String, Long>> mine =
        streams
            .shuffle(
                words(text, lci.rank(), lci.size()),
                word -> Math.floorMod(word.hashCode(), lci.size()),
                Codec.UTF8,
                MANY)
            .collect(HashMap::new, (counts, word) -> counts.merge(word, 1L, Long::sum));
    return mine.flatMap(
        counts -> {
          Flux<Count> found =
              Flux.fromIterable(counts.entrySet()).map(e -> new Count(e.getKey(), e.getValue()));
          Mono<Map<String, Long>> all =
              streams
                  .gather(0, found, Count.CODEC)
                  .collect(
                      TreeMap::new,
                      (sorted, one) -> sorted.put(one.item().word(), one.item().times()));
          return lci.rank() == 0 ? all : all.then(Mono.empty());
        });
  }

  /** Read on a thread that may wait for the disk: the loop must not. */
  private static Flux<String> words(Path text, int part, int parts) {
    return Flux.<String, TextPart>generate(
            () -> TextPart.open(text, part, parts),
            (words, sink) -> {
              String word = words.next();
              if (word == null) {
                sink.complete();
              } else {
                sink.next(word);
              }
              return words;
            },
            TextPart::close)
        .subscribeOn(Schedulers.boundedElastic());
  }

  private void write(Map<String, Long> counts) throws IOException {
    if (output.equals("-")) {
      PrintWriter out =
          new PrintWriter(
              new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII)));
      print(counts, out);
      out.flush();
    } else {
      try (PrintWriter out =
          new PrintWriter(Files.newBufferedWriter(Path.of(output), StandardCharsets.US_ASCII))) {
        print(counts, out);
        if (out.checkError()) {
          throw new IOException(output + " cannot be written");
        }
      }
    }
  }

  /** As {@code uniq -c}. */
  static void print(Map<String, Long> counts, PrintWriter out) {
    counts.forEach((word, times) -> out.printf("%7d %s\n", times, word));
  }
}
