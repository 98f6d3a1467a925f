/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import static io.lci.conformance.World.assertPattern;
import static io.lci.conformance.World.content;
import static io.lci.conformance.World.pattern;
import static org.assertj.core.api.Assertions.assertThat;

import io.lci.AmOp;
import io.lci.AtomicOp;
import io.lci.GetOp;
import io.lci.Op;
import io.lci.Op.Policy;
import io.lci.PutOp;
import io.lci.SendOp;
import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.ArrayList;
import java.util.List;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Rows of the posting table, as {@link Op} gives them. */
class PostingRowsTest {
  private static final Port PORT = Port.of(21, "rows");
  private static final int LONGEST = 20_000; // by rendezvous; the others inline, and in a packet
  private static final int[] SIZES = {0, 8, 193, 1_000, LONGEST};

  /** Options for experts; what has no semantic is posted with its defaults once more. */
  private enum Choice {
    DEFAULTS,
    NO_DONE,
    NO_RETRY,
    POSTED_ALONE,
    NETWORK;

    boolean done() {
      return this == DEFAULTS || this == NO_RETRY || this == NETWORK;
    }

    boolean retry() {
      return this == DEFAULTS || this == NO_DONE || this == NETWORK;
    }

    Op.Semantic semantic() {
      return this == NETWORK ? Op.Semantic.NETWORK : Op.Semantic.MEMORY;
    }

    AmOp of(AmOp op) {
      return op.advanced(a -> a.allowDone(done()).allowRetry(retry()).semantic(semantic()));
    }

    SendOp of(SendOp op) {
      return op.advanced(a -> a.allowDone(done()).allowRetry(retry()).semantic(semantic()));
    }

    PutOp of(PutOp op) {
      return op.advanced(a -> a.allowDone(done()).allowRetry(retry()));
    }

    GetOp of(GetOp op) {
      return op.advanced(a -> a.allowDone(done()).allowRetry(retry()));
    }

    AtomicOp of(AtomicOp op) {
      return op.advanced(a -> a.allowDone(done()).allowRetry(retry()));
    }
  }

  private static final Choice[] CHOICES = Choice.values();
  private static final int CASES = SIZES.length * CHOICES.length;

  /** Makes operation {@code id} of a rank with bytes, or with room, of this size. */
  private interface Form {
    Op make(int id, int size, Choice choice);
  }

  /** Posts every size with every option; checks what each completion says. */
  private static Mono<Void> postAll(World world, int peer, Form form, boolean tagged) {
    return Flux.range(0, CASES)
        .flatMap(
            id -> {
              int size = SIZES[id % SIZES.length];
              Op op = form.make(id, size, CHOICES[id / SIZES.length]).userContext(-id);
              return world
                  .lci()
                  .post(op)
                  .doOnNext(
                      done -> {
                        assertThat(done.error()).as("%s", op).isNull();
                        assertThat(done.userContext()).as("%s", op).isEqualTo(-id);
                        assertThat(done.rank()).as("%s", op).isEqualTo(peer);
                        assertThat(done.size()).as("%s", op).isEqualTo(size);
                        if (tagged) {
                          assertThat(done.tag()).as("%s", op).isEqualTo((long) id);
                        }
                      });
            },
            8)
        .then();
  }

  private static int sizeOf(int id) {
    return SIZES[id % SIZES.length];
  }

  private static Payload bytesOf(World world, int id) {
    return Payload.of(pattern(sizeOf(id), world.rank() + id));
  }

  /** To the next rank, to the one before, and to itself. */
  private static List<Integer> distances(World world) {
    return world.size() == 2 ? List.of(0, 1) : List.of(0, 1, -1);
  }

  // Proves: C1 C3 C14 C16 C17
  @Everywhere
  void activeMessages(Setting everywhere) {
    everywhere.run(
        world -> {
          Inbox inbox = world.lci().inbox(PORT);
          List<Integer> distances = distances(world);
          List<String> seen = new ArrayList<>();
          Mono<Void> received =
              inbox
                  .receive(
                      m -> {
                        int id = (int) (m.tag() & 0xFFFF);
                        assertThat(m.tag() >>> 32).as("64 bits").isEqualTo(0xABCD_EF01L);
                        byte[] bytes = new byte[m.size()];
                        m.getBytes(0, bytes, 0, bytes.length);
                        assertPattern(bytes, sizeOf(id), m.rank() + id, "message " + id);
                        return m.rank() + "/" + id;
                      })
                  .take((long) CASES * distances.size())
                  .doOnNext(seen::add)
                  .then();
          Mono<Void> sent =
              Flux.fromIterable(distances)
                  .concatMap(
                      distance -> {
                        int to = world.rankAt(distance);
                        return postAll(
                            world,
                            to,
                            (id, size, choice) ->
                                choice.of(
                                    Op.am(to, PORT, bytesOf(world, id))
                                        .tag(0xABCD_EF01L << 32 | id)),
                            false);
                      })
                  .then();
          world.awaitAll(received, sent);
          assertThat(seen).doesNotHaveDuplicates().hasSize(CASES * distances.size());
        });
  }

  // Proves: C1 C2 C14 C16 C17
  @Everywhere
  void sendsAndReceives(Setting everywhere) {
    everywhere.run(
        world -> {
          for (int distance : distances(world)) {
            int to = world.rankAt(distance);
            int from = world.rankAt(-distance);
            // Half of the receives are posted at once, each other one when one has ended.
            Mono<Void> received =
                Flux.range(0, CASES)
                    .flatMap(
                        id ->
                            world
                                .lci()
                                .post(Op.receive(from, id, LONGEST).userContext(id + 7))
                                .doOnNext(
                                    done -> {
                                      assertThat(done.userContext()).isEqualTo(id + 7);
                                      assertThat(done.rank()).isEqualTo(from);
                                      assertPattern(
                                          done.message().toByteArray(),
                                          sizeOf(id),
                                          from + id,
                                          "message " + id);
                                    }),
                        CASES / 2)
                    .then();
            Mono<Void> sent =
                postAll(
                    world,
                    to,
                    (id, size, choice) -> choice.of(Op.send(to, id, bytesOf(world, id))),
                    true);
            world.awaitAll(received, sent);
          }
        });
  }

  /** A receive with a wildcard matches the sends of the policy that it stands for, and no other. */
  // Proves: C11 SS-12
  @Everywhere
  void policiesAndWildcards(Setting everywhere) {
    everywhere.run(
        world -> {
          int others = world.size() - 1;
          for (Policy policy : Policy.values()) {
            boolean anySource = policy == Policy.TAG || policy == Policy.NONE;
            boolean anyTag = policy == Policy.RANK || policy == Policy.NONE;
            long tag = 40 + policy.ordinal();
            List<Mono<Completion>> receives = new ArrayList<>();
            List<Mono<Completion>> sends = new ArrayList<>();
            for (int distance = 1; distance <= others; distance++) {
              int from = world.rankAt(-distance);
              receives.add(
                  world
                      .lci()
                      .post(
                          Op.receive(
                              anySource ? Op.ANY_SOURCE : from, anyTag ? Op.ANY_TAG : tag, 8)));
              sends.add(
                  world
                      .lci()
                      .post(
                          Op.send(world.rankAt(distance), tag, Payload.ofLong(world.rank()))
                              .advanced(a -> a.matching(policy))));
            }
            List<Integer> sources = new ArrayList<>();
            Mono<Void> received =
                Flux.merge(receives)
                    .doOnNext(
                        done -> {
                          assertThat(done.tag()).isEqualTo(tag);
                          assertThat(done.message().getLong(0)).isEqualTo(done.rank());
                          sources.add(done.rank());
                        })
                    .then();
            world.awaitAll(received, Flux.merge(sends));
            assertThat(sources).hasSize(others).doesNotHaveDuplicates();
            assertThat(sources).doesNotContain(world.rank());
            world.barrier(); // the next policy's wildcards must not see this one's messages
          }
        });
  }

  // Proves: C1 C4 C14 C16 C17
  @Everywhere
  void puts(Setting everywhere) {
    everywhere.run(PostingRowsTest::putEverything);
  }

  // Proves: C4
  @Everywhere
  void putsThroughMessages(Setting everywhere) {
    everywhere.with("rma", "messages").run(PostingRowsTest::putEverything);
  }

  private static void putEverything(World world) {
    MemoryRegion mine = world.lci().memory().allocate((long) CASES * LONGEST);
    List<RemoteMemory> all = world.open(mine);
    for (int distance : distances(world)) {
      int to = world.rankAt(distance);
      int from = world.rankAt(-distance);
      world.awaitAll(
          postAll(
              world,
              to,
              (id, size, choice) ->
                  choice.of(Op.put(all.get(to), (long) id * LONGEST, bytesOf(world, id))),
              false));
      world.barrier();
      for (int id = 0; id < CASES; id++) {
        byte[] there = content(mine, (long) id * LONGEST, sizeOf(id));
        assertPattern(there, sizeOf(id), from + id, "put " + id);
      }
      world.barrier();
    }
    all.forEach(RemoteMemory::dispose);
    mine.dispose();
  }

  // Proves: C1 C5 C14 C16
  @Everywhere
  void putsWithSignal(Setting everywhere) {
    everywhere.run(PostingRowsTest::putAndSignal);
  }

  // Proves: C5
  @Everywhere
  void putsWithSignalThroughMessages(Setting everywhere) {
    everywhere.with("rma", "messages").run(PostingRowsTest::putAndSignal);
  }

  private static void putAndSignal(World world) {
    MemoryRegion mine = world.lci().memory().allocate((long) CASES * LONGEST);
    Inbox inbox = world.lci().inbox(PORT);
    List<RemoteMemory> all = world.open(mine);
    int to = world.next();
    int from = world.previous();
    // The data is in place when the signal is seen.
    Mono<Long> told =
        inbox
            .receive(
                m -> {
                  int id = (int) m.tag();
                  assertThat(m.rank()).isEqualTo(from);
                  assertThat(m.size()).isZero();
                  byte[] there = content(mine, (long) id * LONGEST, sizeOf(id));
                  assertPattern(there, sizeOf(id), from + id, "put " + id);
                  return id;
                })
            .take(CASES)
            .distinct()
            .count();
    Mono<Void> put =
        postAll(
            world,
            to,
            (id, size, choice) ->
                choice.of(
                    Op.put(all.get(to), (long) id * LONGEST, bytesOf(world, id)).signal(PORT, id)),
            false);
    assertThat(world.await(Mono.zip(told, put.thenReturn(1))).getT1()).isEqualTo(CASES);
    world.barrier();
    mine.dispose();
  }

  // Proves: C1 C6 C14 C16 C17
  @Everywhere
  void gets(Setting everywhere) {
    everywhere.run(PostingRowsTest::getEverything);
  }

  // Proves: C14 C16 C23
  @Everywhere
  void atomicOperations(Setting everywhere) {
    everywhere.run(PostingRowsTest::countTogether);
  }

  // Proves: C23
  @Everywhere
  void atomicOperationsThroughMessages(Setting everywhere) {
    everywhere.with("rma", "messages").run(PostingRowsTest::countTogether);
  }

  /** All ranks add to a long of each: with every option, no value before comes twice. */
  private static void countTogether(World world) {
    int each = 40;
    MemoryRegion mine = world.lci().memory().allocate(64);
    mine.view(8, 8).putLong(0, 0);
    List<RemoteMemory> all = world.open(mine);
    world.barrier();
    for (RemoteMemory memory : all) {
      List<Long> seen = new ArrayList<>();
      world.awaitAll(
          Flux.range(0, each * CHOICES.length)
              .flatMap(
                  id ->
                      world
                          .lci()
                          .post(CHOICES[id / each].of(Op.getAndAdd(memory, 8, 1)).userContext(-id))
                          .doOnNext(
                              done -> {
                                assertThat(done.userContext()).isEqualTo(-id);
                                assertThat(done.rank()).isEqualTo(memory.rank());
                                assertThat(done.size()).isEqualTo(8);
                                seen.add(done.tag());
                              }),
                  8)
              .then());
      assertThat(seen).doesNotHaveDuplicates().hasSize(each * CHOICES.length);
    }
    world.barrier();
    assertThat(mine.view(8, 8).getLong(0)).isEqualTo((long) each * CHOICES.length * world.size());
    world.barrier();
    all.forEach(RemoteMemory::dispose);
    mine.dispose();
  }

  // Proves: C6
  @Everywhere
  void getsThroughMessages(Setting everywhere) {
    everywhere.with("rma", "messages").run(PostingRowsTest::getEverything);
  }

  private static void getEverything(World world) {
    MemoryRegion mine = filled(world);
    List<RemoteMemory> all = world.open(mine);
    for (int distance : distances(world)) {
      int from = world.rankAt(distance);
      world.awaitAll(
          Flux.range(0, CASES)
              .flatMap(
                  id ->
                      world
                          .lci()
                          .post(Op.get(all.get(from), (long) id * LONGEST, sizeOf(id)))
                          .doOnNext(
                              done ->
                                  assertPattern(
                                      done.message().toByteArray(),
                                      sizeOf(id),
                                      from + id,
                                      "get " + id)),
                  8),
          postAll(
              world,
              from,
              (id, size, choice) -> choice.of(Op.get(all.get(from), (long) id * LONGEST, size)),
              false));
    }
    world.barrier();
    mine.dispose();
  }

  private static MemoryRegion filled(World world) {
    MemoryRegion mine = world.lci().memory().allocate((long) CASES * LONGEST);
    for (int id = 0; id < CASES; id++) {
      if (sizeOf(id) > 0) {
        mine.view((long) id * LONGEST, sizeOf(id)).put(pattern(sizeOf(id), world.rank() + id));
      }
    }
    return mine;
  }

  /** Whose memory was read is told so; who reads has the bytes by its own completion. */
  // Proves: C1 C7 C14
  @Everywhere
  void getsWithSignal(Setting everywhere) {
    everywhere.run(
        world -> {
          MemoryRegion mine = filled(world);
          Inbox inbox = world.lci().inbox(PORT);
          List<RemoteMemory> all = world.open(mine);
          int from = world.next();
          Mono<Long> told =
              inbox
                  .receive(
                      m -> {
                        assertThat(m.rank()).isEqualTo(world.previous());
                        assertThat(m.size()).isZero();
                        return m.tag();
                      })
                  .take(CASES)
                  .distinct()
                  .count();
          Mono<Void> read =
              postAll(
                  world,
                  from,
                  (id, size, choice) ->
                      choice.of(Op.get(all.get(from), (long) id * LONGEST, size).signal(PORT, id)),
                  false);
          assertThat(world.await(Mono.zip(told, read.thenReturn(1))).getT1()).isEqualTo(CASES);
          world.barrier();
          mine.dispose();
        });
  }
}
