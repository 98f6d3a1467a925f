/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.CollectivePlan;
import io.lci.error.LciClosedException;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Calls that were prepared, for each set of memory. Any thread, where nothing else is said. */
final class PlanImpl implements CollectivePlan {
  private final GroupCalls group;
  private final Algorithm algorithm;
  private final List<List<CallData>> sets;
  private final CollectiveKind kind;

  /** The last run over each set of memory: ends as that does. */
  private final AtomicReferenceArray<Mono<Void>> last;

  /** The number of the next run. Loop only. */
  private long next;

  PlanImpl(GroupCalls group, Algorithm algorithm, List<List<CallData>> sets) {
    this.group = group;
    this.algorithm = algorithm;
    this.sets = sets;
    this.kind = sets.get(0).get(0).kind;
    this.last = new AtomicReferenceArray<>(sets.size());
    for (int set = 0; set < sets.size(); set++) {
      last.set(set, Mono.empty());
    }
  }

  @Override
  public Mono<Void> run() {
    return group.make(kind, parts -> begin(parts).then());
  }

  /** A run, with its number. */
  Mono<Long> numbered() {
    return group.make(kind, this::begin);
  }

  /** It is its turn, and that of later calls when all of it has been made. Loop only. */
  private Mono<Long> begin(Parts parts) {
    long number = next++;
    int set = (int) (number % sets.size());
    return last.get(set).onErrorComplete().then(Mono.defer(() -> begin(parts, number, set)));
  }

  private Mono<Long> begin(Parts parts, long number, int set) {
    List<Mono<Void>> made = new ArrayList<>();
    for (CallData call : sets.get(set)) {
      made.add(parts.makeInto(call));
    }
    parts.settled();
    Mono<Void> run = Mono.whenDelayError(made).onErrorMap(e -> Exceptions.unwrapMultiple(e).get(0));
    last.set(set, run);
    return run.thenReturn(number);
  }

  @Override
  public Flux<Long> runs(Publisher<?> ticks) {
    Objects.requireNonNull(ticks, "ticks");
    return group.series(kind, (loop, actual) -> new PlanRuns(loop, actual, this, ticks));
  }

  @Override
  public Mono<Void> idle() {
    return group
        .<Void>make(
            kind,
            parts -> {
              parts.settled();
              return ended();
            })
        .onErrorResume(
            failed -> failed instanceof LciClosedException ? Mono.error(failed) : ended());
  }

  private Mono<Void> ended() {
    List<Mono<Void>> runs = new ArrayList<>();
    for (int set = 0; set < sets.size(); set++) {
      runs.add(last.get(set).onErrorComplete());
    }
    return Mono.when(runs);
  }

  @Override
  public Algorithm algorithm() {
    return algorithm;
  }

  @Override
  public int depth() {
    return sets.size();
  }

  @Override
  public String toDot() {
    return PlanDot.of(this + "", sets);
  }

  @Override
  public String toString() {
    return "CollectivePlan["
        + sets.get(0).get(0).description()
        + chosen()
        + (sets.get(0).size() > 1 ? " in " + sets.get(0).size() + " segments" : "")
        + ", depth "
        + depth()
        + " of "
        + group
        + ']';
  }

  /** What the description of a call does not say, for it names no algorithm. */
  private String chosen() {
    boolean isNamed = sets.get(0).get(0).algorithm() != Algorithm.AUTO;
    return isNamed || algorithm == Algorithm.AUTO ? "" : " (" + algorithm + ", chosen)";
  }
}
