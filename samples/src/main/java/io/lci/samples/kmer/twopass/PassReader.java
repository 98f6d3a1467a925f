/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.LciRuntime;
import io.lci.PostResult;
import io.lci.am.Encoder;
import io.lci.am.PayloadWriter;
import io.lci.am.SenderOptions;
import io.lci.samples.kmer.common.Feed;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.RunSplitter;
import io.lci.samples.reads.SequenceReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One reader thread in one pass: reads its share of the files, cuts it into runs, collects these in
 * a block per owner, and feeds full blocks to the senders.
 */
final class PassReader {
  /** Blocks beyond one per owner: how much may be under way. */
  private static final int BLOCKS_UNDER_WAY = 64;

  private static final int LONGEST_MINIMIZER = 15;

  static final Encoder<Block> ENCODER =
      new Encoder<>() {
        @Override
        public void encode(Block block, PayloadWriter out) {
          out.putBytes(block.bytes(), 0, block.length());
        }

        @Override
        public int sizeHint(Block block) {
          return block.length();
        }
      };

  private final LciRuntime lci;
  private final Owners owners;
  private final int pass;
  private final int overlap;
  private final JobProgress progress;
  private final List<ShardServer> local;
  private final List<Path> files;
  private final SequenceReader reader;
  private final BlockPool pool;
  private final Block[] open;
  private final long[] sent;
  private final List<Feed<Block>> feeds = new ArrayList<>();

  PassReader(
      LciRuntime lci,
      Owners owners,
      List<ShardServer> local,
      KmerOptions options,
      int pass,
      int thread,
      JobProgress progress) {
    this.lci = lci;
    this.owners = owners;
    this.local = local;
    this.pass = pass;
    this.files = options.files();
    this.pool = new BlockPool(owners.count() + BLOCKS_UNDER_WAY);
    this.open = new Block[owners.count()];
    this.sent = new long[owners.count()];
    RunSplitter splitter =
        new RunSplitter(
            options.shape(),
            options.shape().minimizer(LONGEST_MINIMIZER),
            owners.count(),
            this::addRun);
    this.reader =
        new SequenceReader(
            options.shape().k(),
            owners.owner(lci.rank(), thread),
            owners.count(),
            progress::add,
            splitter);
    this.progress = progress;
    for (int loop = 0; loop < owners.loops(); loop++) {
      feeds.add(new Feed<>(feed -> {}));
    }
    this.overlap = options.shape().k() - 1;
  }

  /** Reads on {@code thread}; emits how many k-mers went to each owner when all were accepted. */
  Mono<long[]> run(Scheduler thread) {
    List<Mono<Void>> work = new ArrayList<>();
    for (int loop = 0; loop < owners.loops(); loop++) {
      work.add(route(loop));
    }
    work.add(Mono.<Void>fromRunnable(this::readAll).subscribeOn(thread));
    return Mono.when(work).thenReturn(sent);
  }

  private Mono<Void> route(int loop) {
    SenderOptions options = SenderOptions.builder().loop(loop).stopOnError(true).build();
    Flux<PostResult<Block>> results =
        lci.sender(Owners.port(loop), options)
            .route(feeds.get(loop), block -> owners.rank(block.owner()), ENCODER);
    return results.doOnNext(result -> pool.give(result.item())).then();
  }

  private void readAll() {
    try {
      for (int owner = 0; owner < open.length; owner++) {
        open[owner] = emptyBlock(owner);
      }
      files.forEach(reader::read);
      for (Block block : open) {
        if (!block.isEmpty()) {
          dispatch(block);
        }
      }
      feeds.forEach(Feed::complete);
    } catch (InterruptedException | CancellationException e) {
      // Whoever made us stop says why, a sender by its error; the feeds stay open, so this never
      // passes for the end.
      return;
    }
  }

  private void addRun(int owner, byte[] codes, int from, int bases) {
    int kmers = bases - overlap;
    Block block = open[owner];
    if (!block.append(codes, from, bases, kmers)) {
      try {
        dispatch(block);
        block = emptyBlock(owner);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CancellationException("reading was interrupted");
      }
      open[owner] = block;
      block.append(codes, from, bases, kmers);
    }
    sent[owner] += kmers;
  }

  private Block emptyBlock(int owner) throws InterruptedException {
    Block block = pool.take();
    block.start(pass, owner);
    return block;
  }

  private void dispatch(Block block) throws InterruptedException {
    int loop = owners.loop(block.owner());
    block.seal();
    progress.addKmers(block.kmers());
    if (owners.rank(block.owner()) == lci.rank()) {
      local.get(loop).takeLocal(block, () -> pool.give(block));
    } else {
      feeds.get(loop).put(block);
    }
  }
}
