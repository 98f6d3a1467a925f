/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.CollectiveContext;
import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.collective.Vec;
import io.lci.internal.lane.CallData;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A group of the core, and the context of its own calls. Any thread. */
class GroupImpl extends GroupCalls implements Group {
  /** Of the context of its own calls. */
  private static final long OWN_KEY = Long.MIN_VALUE;

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
          return allGather(Vec.ints(new int[] {color, order}), Vec.ints(all))
              .then(Mono.defer(() -> Mono.justOrEmpty(part(color, all))));
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
  Mono<Void> make(CallData call) {
    return Mono.defer(() -> own(call.kind.operation()).make(call));
  }

  @Override
  public GroupStreams streams() {
    return own("open streams").streams();
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
