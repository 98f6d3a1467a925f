/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.lci.LciRuntime;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.CallOptions;
import io.lci.rpc.RpcHandler;
import io.lci.samples.kv.KvTable.Stored;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * One rank of the service. Reads any key without the owner's help, writes through the owner, and
 * serves the keys that it owns. Publishers are cold; what concerns a rank that is gone ends with
 * {@link io.lci.error.PeerFailedException} or {@link io.lci.error.PeerLeftException}.
 */
final class KvNode {
  private static final String PUT = "kv.put";
  private static final String REMOVE = "kv.remove";
  private static final String SCAN = "kv.scan";

  private static final CallOptions PATIENCE =
      CallOptions.builder().deadline(Duration.ofSeconds(10)).build();

  /** How often a reader looks again, 1 ms apart, while the owner is writing. */
  private static final int LOOKS = 1_000;

  /** Entries of a scan that each rank may be ahead. */
  private static final int AHEAD = 32;

  private final LciRuntime lci;
  private final Placement placement;
  private final KvTable mine;
  private final List<RemoteMemory> tables;

  /** A node whose calls somebody else serves. */
  KvNode(LciRuntime lci, Placement placement, KvTable mine, List<RemoteMemory> tables) {
    this.lci = lci;
    this.placement = placement;
    this.mine = mine;
    this.tables = tables;
  }

  /** Emits the node when every rank has called this, with an equal placement. */
  static Mono<KvNode> join(LciRuntime lci, Placement placement) {
    return Mono.defer(
        () -> {
          KvTable mine = new KvTable(lci, placement);
          serve(lci, placement, mine);
          return lci.memory()
              .exchange(mine.region())
              .map(tables -> new KvNode(lci, placement, mine, tables));
        });
  }

  private static void serve(LciRuntime lci, Placement placement, KvTable mine) {
    lci.rpc().serve(PUT, RpcHandler.response(request -> put(placement, mine, request)));
    lci.rpc()
        .serve(
            REMOVE,
            RpcHandler.response(
                request -> Mono.justOrEmpty(mine.remove(request.utf8())).map(Payload::ofLong)));
    lci.rpc()
        .serve(SCAN, RpcHandler.stream(request -> mine.scan(request.utf8()).map(Entry::payload)));
  }

  private static Mono<Payload> put(Placement placement, KvTable mine, Message request) {
    Entry entry = placement.checked(Entry.of(request));
    return Mono.justOrEmpty(mine.put(entry.key(), entry.value())).map(Stored::payload);
  }

  /** Which rank owns the key. */
  int owner(String key) {
    return placement.owner(key);
  }

  /** Keys of this rank. */
  int size() {
    return mine.size();
  }

  Placement placement() {
    return placement;
  }

  /** Reads through the owner's memory, without its help. Empty if the key is not there. */
  Mono<Entry> get(String key) {
    return probe(tables.get(owner(key)), key, 0);
  }

  private Mono<Entry> probe(RemoteMemory table, String key, int probe) {
    if (probe == Placement.PROBES) {
      return Mono.empty();
    }
    return slot(table, placement.firstSlot(key) + probe)
        .flatMap(
            slot ->
                switch (slot.state()) {
                  case LIVE -> {
                    Entry entry = slot.live();
                    yield entry.key().equals(key) ? Mono.just(entry) : probe(table, key, probe + 1);
                  }
                  case REMOVED -> probe(table, key, probe + 1);
                  default -> Mono.empty();
                });
  }

  /** A whole copy of a slot; an error if the owner does not end its write. */
  private Mono<Slot> slot(RemoteMemory table, int slot) {
    return table
        .get(placement.offset(slot), placement.slotBytes())
        .map(Slot::read)
        .filter(copy -> copy.state() != Slot.State.TORN)
        .repeatWhenEmpty(looks -> looks.take(LOOKS).delayElements(Duration.ofMillis(1)))
        .switchIfEmpty(Mono.error(() -> new UnfinishedWriteException(table.rank())));
  }

  /** Writes through the owner; whoever reads after the answer sees this value, or a later one. */
  Mono<Stored> put(String key, byte[] value) {
    int owner = owner(key);
    return lci.rpc()
        .requestResponse(owner, PUT, new Entry(key, 0, value).payload(), PATIENCE)
        .map(Stored::of)
        .switchIfEmpty(Mono.error(() -> new TableFullException(owner, key)));
  }

  /** Emits the version of the removal; empty if the key was not there. */
  Mono<Long> remove(String key) {
    return lci.rpc()
        .requestResponse(owner(key), REMOVE, Payload.ofUtf8(key), PATIENCE)
        .map(answer -> answer.getLong(0));
  }

  /** All keys that begin with {@code prefix}, of all ranks, sorted. Demand reaches every owner. */
  Flux<Entry> scan(String prefix) {
    List<Flux<Entry>> parts =
        IntStream.range(0, lci.size())
            .mapToObj(
                rank -> lci.rpc().requestStream(rank, SCAN, Payload.ofUtf8(prefix)).map(Entry::of))
            .toList();
    return merged(parts);
  }

  @SuppressWarnings("unchecked") // an array of a generic type
  private static Flux<Entry> merged(List<Flux<Entry>> parts) {
    return Flux.mergeComparing(AHEAD, Comparator.comparing(Entry::key), parts.toArray(Flux[]::new));
  }
}
