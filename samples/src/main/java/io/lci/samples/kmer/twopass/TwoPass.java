/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.LciRuntime;
import io.lci.am.SenderOptions;
import io.lci.samples.kmer.common.CountTable;
import io.lci.samples.kmer.common.Histogram;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.samples.kmer.common.Results;
import java.util.ArrayList;
import java.util.List;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Counts in two passes. In the first one every k-mer goes to its owner's filter, in the second the
 * owner counts those that the filter saw more than once.
 */
public final class TwoPass implements Disposable {
  private final LciRuntime lci;
  private final KmerOptions options;
  private final JobProgress progress;
  private final long bytes;
  private final Scheduler readers;
  private final Owners owners;
  private final List<ShardServer> servers = new ArrayList<>();
  private final Disposable.Composite resources = Disposables.composite();

  /**
   * @param bytes what this rank reads in a pass
   * @param readers where reading may wait for the disk
   */
  public TwoPass(
      LciRuntime lci,
      KmerOptions options,
      KmerOptions.TwoPass form,
      long bytes,
      Scheduler readers,
      JobProgress progress) {
    this.lci = lci;
    this.options = options;
    this.bytes = bytes;
    this.readers = readers;
    this.progress = progress;
    this.owners = new Owners(lci.size(), lci.loops().size());
    SeenFilter filter = new SeenFilter(form.bloomBits());
    lci.loops()
        .forEach(
            loop -> servers.add(new ShardServer(lci, loop, new Shard(options.shape(), filter))));
    resources.addAll(servers);
  }

  /** {@return all that this rank counts; for one subscriber} */
  public Flux<ResultMessage> results() {
    return pass(Shard.FILL)
        .then(Mono.defer(() -> pass(Shard.COUNT)))
        .thenMany(Flux.defer(this::counted));
  }

  /** Reads, sends, waits for everything that is ours, and then for the other ranks. */
  private Mono<Void> pass(int pass) {
    return Mono.defer(
        () -> {
          progress.start("pass " + pass + " of 2", bytes);
          Mono<Void> received = Mono.when(servers.stream().map(s -> s.done(pass)).toList());
          return Mono.when(send(pass), received)
              .then(lci.barrier())
              .doOnSuccess(v -> progress.finish());
        });
  }

  private Mono<Void> send(int pass) {
    return Flux.range(0, owners.loops())
        .map(thread -> new PassReader(lci, owners, servers, options, pass, thread, progress))
        .flatMap(reader -> reader.run(readers), owners.loops())
        .reduce(new long[owners.count()], TwoPass::sum)
        .flatMap(sent -> sendEnds(pass, sent));
  }

  private static long[] sum(long[] total, long[] part) {
    for (int i = 0; i < total.length; i++) {
      total[i] += part[i];
    }
    return total;
  }

  private Mono<Void> sendEnds(int pass, long[] sent) {
    return Flux.range(0, owners.count())
        .flatMap(owner -> sendEnd(owner, new Block().end(pass, owner, sent[owner])))
        .then();
  }

  private Mono<Void> sendEnd(int owner, Block end) {
    int loop = owners.loop(owner);
    if (owners.rank(owner) == lci.rank()) {
      return Mono.fromRunnable(() -> servers.get(loop).takeLocal(end, () -> {}));
    }
    return lci.sender(Owners.port(loop), SenderOptions.builder().loop(loop).build())
        .sendAll(owners.rank(owner), Mono.just(end), PassReader.ENCODER);
  }

  private Flux<ResultMessage> counted() {
    List<CountTable> tables = servers.stream().map(s -> s.shard().table()).toList();
    Histogram histogram = new Histogram();
    tables.forEach(table -> histogram.add(table, 2)); // the filter lets some through by mistake
    Flux<ResultMessage> entries =
        options.dump() == null
            ? Flux.empty()
            : Flux.fromIterable(tables).concatMap(Results::repeated, 1);
    long received = servers.stream().mapToLong(s -> s.received(Shard.COUNT)).sum();
    return Flux.concat(
        Results.of(histogram), entries, Mono.fromSupplier(() -> ResultMessage.summary(received)));
  }

  @Override
  public void dispose() {
    resources.dispose();
  }
}
