/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.collective.CollectiveContext;
import io.lci.collective.CollectivePlan;
import io.lci.collective.Group;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.error.PeerFailedException;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The snippets of {@code docs/guide/collectives.md}. */
@ExtendWith(LciLeakCheck.class)
class CollectivesGuideTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void callsOfGroups() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Void>> members = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        LciRuntime lci = job.rank(rank);
        long requests = 20L + rank;
        int weights = 3;
        // show: collective
        Group workers = lci.world().subgroup(1, 0, 1); // ranks 0 and 1
        Mono<Long> served = workers.allReduce(requests, ReduceOp.SUM); // on every member
        LciBuffer model = lci.memory().sharedBuffer(8 * weights);
        Mono<Void> trained =
            workers
                .broadcast(0, Vec.doubles(model)) // from member 0
                .then(Mono.fromRunnable(() -> learn(model)))
                .then(workers.allReduce(Vec.doubles(model), Vec.doubles(model), ReduceOp.SUM));
        // end
        String host = "host" + "-".repeat(rank);
        // show: values
        Mono<String> version = workers.broadcast(0, lci.rank() == 0 ? "1.7" : null, Codec.UTF8);
        Mono<List<String>> hosts = workers.allGather(host, Codec.UTF8); // by member
        Mono<String> longest =
            workers.allReduce(host, Codec.UTF8, (a, b) -> a.length() >= b.length() ? a : b);
        // end
        model.view().putDouble(16, 2.5 - rank);
        members.add(
            version
                .doOnNext(one -> assertThat(one).isEqualTo("1.7"))
                .then(hosts)
                .doOnNext(all -> assertThat(all).containsExactly("host", "host-"))
                .then(longest)
                .doOnNext(one -> assertThat(one).isEqualTo("host-"))
                .then(served)
                .doOnNext(sum -> assertThat(sum).isEqualTo(41))
                .then(trained)
                .doOnSuccess(done -> assertThat(model.view().getDouble(16)).isEqualTo(7)));
      }
      Mono.when(members).block(LIMIT);
    }
  }

  @Test
  void groupsOfThoseWhoLive() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Group>> members = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        Group group = job.rank(rank).world();
        // show: shrink
        Mono<Group> next =
            train(group)
                .thenReturn(true)
                .onErrorReturn(PeerFailedException.class, false)
                .flatMap(group::agree) // some have completed what has failed on others
                .flatMap(all -> all ? Mono.just(group) : group.shrink());
        // end
        Mono<Group> begun = next.cache();
        begun.subscribe(living -> {}, error -> {});
        members.add(begun);
      }
      job.rank(2).abort();
      for (Mono<Group> member : members) {
        assertThat(member.block(LIMIT).size()).isEqualTo(2);
      }
    }
  }

  @Test
  void plansOfGroups() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<List<Long>>> members = new ArrayList<>();
      Publisher<Integer> ticks = Flux.range(0, 4);
      List<double[]> results = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Group workers = lci.world();
        double[] data = {1, 2};
        results.add(data);
        Vec a = Vec.doubles(data, 0, 1);
        Vec b = Vec.doubles(data, 1, 1);
        // show: plan
        CollectivePlan plan =
            workers
                .plan()
                .allReduce(List.of(a, b), List.of(a, b), ReduceOp.SUM) // in place, in turn
                .segmentBytes(64 << 10)
                .depth(2)
                .build();
        Flux<Long> steps = plan.runs(ticks).doOnNext(k -> use(k % 2 == 0 ? a : b));
        // end
        members.add(steps.collectList());
      }
      for (List<Long> runs : Flux.mergeSequential(members).collectList().block(LIMIT)) {
        assertThat(runs).containsExactly(0L, 1L, 2L, 3L);
      }
      for (double[] data : results) {
        assertThat(data).containsExactly(4, 8);
      }
    }
  }

  private static void use(Vec result) {
    assertThat(result.count()).isEqualTo(1);
  }

  private static Mono<Void> train(Group group) {
    return group.barrier();
  }

  private static void learn(LciBuffer model) {
    model.view().putDouble(16, model.view().getDouble(16) + 1);
  }

  @Test
  void twoAtOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Void>> members = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Group workers = lci.world();
        double[] even = {1};
        double[] odd = {2};
        // show: contexts
        CollectiveContext other = workers.context(1);
        Mono<Void> both =
            Mono.when(
                workers.allReduce(Vec.doubles(even), Vec.doubles(even), ReduceOp.SUM),
                other.allReduce(Vec.doubles(odd), Vec.doubles(odd), ReduceOp.SUM));
        // end
        members.add(both.doOnSuccess(done -> assertThat(even[0] + odd[0]).isEqualTo(6)));
      }
      Mono.when(members).block(LIMIT);
    }
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("collectives.md", CollectivesGuideTest.class, 5);
  }
}
