/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.LciLoop;
import io.lci.LciRuntime;
import io.lci.am.InboxOptions;
import io.lci.am.MessageView;
import io.lci.samples.kmer.common.PackedBases;
import java.util.List;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/**
 * Serves one shard on its loop: takes blocks of other ranks from the inbox and those of this rank
 * directly.
 */
final class ShardServer implements Disposable {
  private static final String NO_MEMORY =
      "the heap is full: use more ranks, or a larger heap by -Xmx";

  private final Shard shard;
  private final Scheduler loop;
  private final Disposable subscription;
  private final byte[] message = new byte[Block.CAPACITY + PackedBases.SLACK];
  private final List<PassLedger> ledgers;
  private final List<Sinks.Empty<Void>> done = List.of(Sinks.empty(), Sinks.empty());

  ShardServer(LciRuntime lci, LciLoop loop, Shard shard) {
    this.shard = shard;
    this.loop = loop.scheduler();
    this.ledgers = List.of(new PassLedger(lci.size()), new PassLedger(lci.size()));
    this.subscription =
        lci.inbox(Owners.port(loop.index()), InboxOptions.builder().loop(loop.index()).build())
            .receive(this::take)
            .subscribe(kmers -> {}, this::fail);
  }

  Shard shard() {
    return shard;
  }

  /**
   * Completes, on the loop, when everything of a pass has come; fails with what went wrong here.
   */
  Mono<Void> done(int pass) {
    return done.get(pass - 1).asMono();
  }

  /** K-mers that came in a pass. */
  long received(int pass) {
    return ledgers.get(pass - 1).total();
  }

  /** Takes a block of this rank: the same work on the same thread as for one that was sent. */
  void takeLocal(Block block, Runnable afterwards) {
    loop.schedule(
        () -> {
          try {
            process(block.bytes(), block.length());
          } catch (OutOfMemoryError e) {
            fail(new IllegalStateException(NO_MEMORY, e));
          } catch (RuntimeException e) {
            fail(e);
          }
          afterwards.run();
        });
  }

  private int take(MessageView view) {
    int size = view.size();
    if (size < Block.HEADER || size > Block.CAPACITY) {
      throw new IllegalStateException(
          "rank " + view.rank() + " sent a block of " + size + " bytes");
    }
    view.getBytes(0, message, 0, size);
    try {
      process(message, size);
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(NO_MEMORY, e);
    }
    return size;
  }

  private void process(byte[] bytes, int length) {
    int kind = Block.kind(bytes);
    int pass = Math.abs(kind);
    if (pass != Shard.FILL && pass != Shard.COUNT) {
      throw new IllegalStateException("block of unknown kind " + kind);
    }
    PassLedger ledger = ledgers.get(pass - 1);
    if (kind > 0) {
      ledger.received(shard.process(bytes, length));
    } else {
      ledger.ended(Block.count(bytes));
    }
    if (ledger.isComplete()) {
      if (pass == Shard.FILL) {
        shard.prepareCount();
      }
      done.get(pass - 1).tryEmitEmpty();
    }
  }

  private void fail(Throwable error) {
    done.forEach(sink -> sink.tryEmitError(error));
  }

  @Override
  public void dispose() {
    subscription.dispose();
  }
}
