/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import java.util.ArrayList;
import java.util.List;
import org.reactivestreams.Publisher;

/** Matching engines of the program. */
class EngineRowsTest {
  private static final int[] SIZES = {0, 8, 200, 5_000, 50_000};

  /** The same ranks and tags on several engines do not meet. */
  // Proves: B18 B19 B20
  @Everywhere
  void enginesDoNotMeet(Setting everywhere) {
    everywhere.run(
        world -> {
          for (EngineOptions.Store store : EngineOptions.Store.values()) {
            List<MatchingEngine> engines = new ArrayList<>();
            EngineOptions options = EngineOptions.builder().store(store).build();
            for (int i = 1; i <= 3; i++) {
              engines.add(world.lci().tagged().engine(3 * store.ordinal() + i, options));
            }
            List<Publisher<?>> all = new ArrayList<>();
            for (int size : SIZES) {
              for (MatchingEngine engine : engines) {
                int mark = engine.number() * 100;
                all.add(
                    world
                        .lci()
                        .post(Op.receive(world.previous(), size, 60_000).engine(engine))
                        .doOnNext(
                            done ->
                                World.assertPattern(
                                    done.message().toByteArray(),
                                    size,
                                    mark + world.previous(),
                                    "engine " + engine.number())));
              }
              for (int i = engines.size() - 1; i >= 0; i--) {
                byte[] bytes = World.pattern(size, engines.get(i).number() * 100 + world.rank());
                all.add(
                    world
                        .lci()
                        .post(
                            Op.send(world.next(), size, Payload.of(bytes)).engine(engines.get(i))));
              }
            }
            world.awaitAll(all.toArray(Publisher[]::new));
            world.barrier();
            engines.forEach(MatchingEngine::dispose);
          }
        });
  }

  /** The program's key decides alone, made by the poster on both sides, in Java. */
  // Proves: B21
  @Everywhere
  void keysOfTheProgram(Setting everywhere) {
    everywhere.run(
        world -> {
          MatchingEngine engine =
              world
                  .lci()
                  .tagged()
                  .engine(
                      9,
                      EngineOptions.builder()
                          .keys((rank, tag, policy) -> tag / 100 * 31 + policy.ordinal())
                          .build());
          List<Publisher<?>> all = new ArrayList<>();
          for (int i = 0; i < SIZES.length; i++) {
            int size = SIZES[i];
            long hundred = 100L * (i + 1);
            all.add(
                world
                    .lci()
                    .post(
                        Op.receive(world.previous(), hundred + 5, 60_000)
                            .engine(engine)
                            .advanced(a -> a.matching(Op.Policy.TAG)))
                    .doOnNext(
                        done -> {
                          assertThat(done.tag()).isEqualTo(hundred + 99);
                          World.assertPattern(
                              done.message().toByteArray(), size, world.previous(), "key " + size);
                        }));
            all.add(
                world
                    .lci()
                    .post(
                        Op.send(
                                world.next(),
                                hundred + 99,
                                Payload.of(World.pattern(size, world.rank())))
                            .engine(engine)
                            .advanced(a -> a.matching(Op.Policy.TAG))));
          }
          world.awaitAll(all.toArray(Publisher[]::new));
        });
  }
}
