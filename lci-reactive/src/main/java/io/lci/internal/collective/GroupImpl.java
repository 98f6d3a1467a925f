/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Algorithm;
import io.lci.collective.CollectiveContext;
import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.collective.Vec;
import io.lci.error.LciException;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.AgreeData;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import io.lci.nativebridge.Codes;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A group of the core, and the context of its own calls. Any thread. */
class GroupImpl extends GroupCalls implements Group {
  /** Of the context of its own calls. */
  private static final long OWN_KEY = Long.MIN_VALUE;

  /** What a member that agrees says; else it says nothing. */
  private static final long AGREED = 1;

  final GroupKey key;
  final long handle;
  private final Groups groups;
  private final int rank;

  // Guarded by this
  private @Nullable ContextImpl own;
  private boolean disposed;

  /** The group of the core is made here. */
  GroupImpl(Groups groups, GroupKey key) {
    super(new CallMaker(groups.core, key.ranks().indexOf(groups.core.rank), key.ranks().size()));
    this.groups = groups;
    this.key = key;
    this.rank = key.ranks().indexOf(groups.core.rank);
    this.handle = groups.create(key);
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return key.ranks().size();
  }

  @Override
  public int worldRank(int member) {
    if (member < 0 || member >= size()) {
      throw new IllegalArgumentException("members are 0 to " + (size() - 1) + ": " + member);
    }
    return key.ranks().get(member);
  }

  @Override
  public Group subgroup(long subgroupKey, int... members) {
    Objects.requireNonNull(members, "members");
    List<Integer> ranks = Arrays.stream(members).mapToObj(this::worldRank).toList();
    return groups.group(new GroupKey(ranks, subgroupKey));
  }

  @Override
  public Mono<Group> split(int color, int order) {
    return Mono.defer(
        () -> {
          int[] all = new int[2 * size()]; // colour and order of each member
          Vec own = Vec.ints(new int[] {color, order});
          return allGather(own, Vec.ints(all), () -> all).mapNotNull(done -> part(color, done));
        });
  }

  /** The group of this colour; null if it is negative. */
  private @Nullable Group part(int color, int[] all) {
    if (color < 0) {
      return null;
    }
    int[] members =
        IntStream.range(0, size())
            .filter(member -> all[2 * member] == color)
            .boxed()
            .sorted(Comparator.comparingInt(member -> all[2 * member + 1]))
            .mapToInt(Integer::intValue)
            .toArray();
    return subgroup(color, members);
  }

  @Override
  public CollectiveContext context(long contextKey, int device) {
    if (contextKey == OWN_KEY) {
      throw new IllegalArgumentException("key " + contextKey + " is that of the group's own calls");
    }
    synchronized (this) {
      refuseIfDisposed("create context");
      return groups.context(this, contextKey, device);
    }
  }

  @Override
  public GroupStreams streams() {
    return own("open streams").streams();
  }

  @Override
  <T> Mono<T> make(CallData call, @Nullable Supplier<? extends T> result) {
    return Mono.defer(() -> own(call.kind.operation()).make(call, result));
  }

  @Override
  <T> Mono<T> make(CollectiveKind kind, Function<Parts, Mono<T>> recipe) {
    return Mono.defer(() -> own(kind.operation()).make(kind, recipe));
  }

  /** A group that has gone says so when a call is made. */
  @Override
  Algorithm chosen(CallData call) {
    try {
      return own(call.kind.operation()).chosen(call);
    } catch (LciException | IllegalStateException gone) {
      return call.algorithm();
    }
  }

  @Override
  <T> Flux<T> series(CollectiveKind kind, Series<T> series) {
    return Flux.defer(() -> own(kind.operation()).series(kind, series));
  }

  @Override
  public Mono<Boolean> agree(boolean value) {
    return agreed(value ? AGREED : 0).map(outcome -> outcome.value() == AGREED);
  }

  @Override
  public Mono<Group> shrink() {
    return agreed(AGREED).map(this::survivors);
  }

  private Mono<AgreeData.Outcome> agreed(long value) {
    if (size() > Codes.MAX_AGREE) {
      throw new IllegalStateException(
          "a group of " + size() + " members; " + Codes.MAX_AGREE + " may agree");
    }
    return Mono.defer(() -> own(CollectiveKind.AGREE.operation()).agree(value));
  }

  /** Made alike by all that get the same outcome. */
  private Group survivors(AgreeData.Outcome outcome) {
    if (outcome.dead().get(rank)) {
      throw Errors.fenced("shrink");
    }
    int[] living =
        IntStream.range(0, size()).filter(member -> !outcome.dead().get(member)).toArray();
    return subgroup(key.survivorsKey(outcome.number()), living);
  }

  @Override
  public void revoke(String reason) {
    groups.revoke(key, Objects.requireNonNull(reason, "reason"));
  }

  /** Made for the first call: most groups of a large job make none. */
  private synchronized ContextImpl own(String operation) {
    ContextImpl known = own;
    if (known == null) {
      refuseIfDisposed(operation);
      known = groups.context(this, OWN_KEY, 0);
      own = known;
    }
    return known;
  }

  private void refuseIfDisposed(String operation) {
    if (disposed) {
      throw groups.core.ending.gone(operation, "group", "subgroup makes another");
    }
  }

  @Override
  public synchronized void dispose() {
    if (!disposed) {
      disposed = true;
      if (own != null) {
        own.dispose();
      }
      groups.forget(this);
    }
  }

  @Override
  public synchronized boolean isDisposed() {
    return disposed;
  }

  @Override
  public String toString() {
    return "Group[" + key.key() + " of ranks " + key.ranks() + ", member " + rank + ']';
  }
}
