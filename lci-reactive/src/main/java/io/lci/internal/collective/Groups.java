/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.error.LciException;
import io.lci.internal.collective.RevocationMessage.What;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** The groups of a runtime and their contexts: one of each for equal arguments. Any thread. */
final class Groups {
  final CoreRuntime core;
  final StreamRoom streams;
  private final PerLoop<Outbox> outboxes;
  final Revocations revocations;

  // Guarded by this
  private final Map<GroupKey, GroupImpl> groups = new HashMap<>();
  private final Map<ContextKey, ContextImpl> contexts = new HashMap<>();
  private final BitSet numbers = new BitSet();

  Groups(CoreRuntime core, PerLoop<Outbox> outboxes, CallMessages messages, StreamRoom streams) {
    this.core = core;
    this.streams = streams;
    this.outboxes = outboxes;
    this.revocations = new Revocations(core.rank, messages);
  }

  synchronized GroupImpl group(GroupKey key) {
    GroupImpl known = groups.get(key);
    if (known != null) {
      return known;
    }
    core.ending.refuse("create group");
    int own = key.ranks().indexOf(core.rank);
    if (own < 0 || new HashSet<>(key.ranks()).size() != key.ranks().size()) {
      throw new IllegalArgumentException(
          "a group has this rank, " + core.rank + ", and none twice: ranks " + key.ranks());
    }
    GroupImpl group = new GroupImpl(this, key);
    add(group);
    return group;
  }

  /** Also the world, which is there before it is asked for. */
  synchronized void add(GroupImpl group) {
    groups.put(group.key, group);
    revocations.madeGroup(group.key.id());
  }

  /** Makes the group of the core. */
  long create(GroupKey key) {
    List<Integer> ranks = key.ranks();
    ByteBuffer members =
        ByteBuffer.allocateDirect(ranks.size() * Integer.BYTES).order(ByteOrder.nativeOrder());
    ranks.forEach(members::putInt);
    NativeScratch out = new NativeScratch(1);
    core.gate.ask(
        "create group",
        LciException.NONE,
        () ->
            core.calls.groupCreate(
                core.handle,
                NativeMemory.address(members),
                ranks.size(),
                key.key(),
                out.address(0)));
    Reference.reachabilityFence(members);
    return out.getLong(0);
  }

  synchronized void forget(GroupImpl group) {
    groups.remove(group.key, group);
    revocations.forgetGroup(group.key.id());
    core.gate.with(() -> core.calls.groupFree(group.handle), Codes.DONE);
  }

  ContextImpl context(GroupImpl group, long key, int device) {
    return context(group, key, device, false);
  }

  /**
   * @param once whether it never comes again, so that nothing is to be kept of it
   */
  synchronized ContextImpl context(GroupImpl group, long key, int device, boolean once) {
    ContextKey wanted = new ContextKey(group.key, key, device);
    ContextImpl known = contexts.get(wanted);
    if (known != null && !known.isDisposed()) {
      return known;
    }
    if (known != null) {
      throw new IllegalStateException(
          known + " was disposed of, and its calls are not over; then it can be made anew");
    }
    core.ending.refuse("create context");
    revocations.hear(this::heard); // without a context there is nothing to give up
    Outbox outbox = outboxes.of(device);
    NativeScratch out = new NativeScratch(2);
    core.gate.ask("create context", device, () -> create(group, key, device, out));
    int number = numbers.nextClearBit(0);
    ContextImpl context =
        new ContextImpl(
            core, this, group, wanted, outbox, out.getLong(0), out.getLong(1), number, once);
    numbers.set(number);
    contexts.put(wanted, context);
    tellEarlier(context);
    return context;
  }

  private int create(GroupImpl group, long key, int device, NativeScratch out) {
    int code = core.calls.contextCreate(group.handle, key, device, out.address(0));
    return code == Codes.DONE ? core.calls.contextId(out.getLong(0), out.address(1)) : code;
  }

  /** At once: one that is made of the same arguments meanwhile would be this one again. */
  synchronized long free(ContextImpl context, long handle) {
    contexts.remove(context.key, context);
    numbers.clear(context.number());
    revocations.forgetContext(context.id());
    return core.gate.with(
        () -> context.isOnce() ? core.calls.contextForget(handle) : core.calls.contextFree(handle),
        Codes.DONE);
  }

  /** Asks that unless the context has been freed; it is not meanwhile. */
  synchronized <T> T whileThere(ContextImpl context, Supplier<T> what, T otherwise) {
    return contexts.get(context.key) == context ? what.get() : otherwise;
  }

  /** Does that unless the context has been freed; it is not meanwhile. Returns whether it did. */
  synchronized boolean whileThere(ContextImpl context, Runnable what) {
    boolean there = contexts.get(context.key) == context;
    if (there) {
      what.run();
    }
    return there;
  }

  // What is given up

  /** On every member, also of contexts that are made later. */
  void revoke(GroupKey group, String reason) {
    core.ending.refuse("revoke group");
    if (revoked(What.GROUP, group.id(), Revocation.ofGroup(core.rank, reason))) {
      revocations.tell(group.ranks(), What.GROUP, group.id(), reason);
    }
  }

  /** The streams of a context end on every member; of its calls the core tells. */
  void endStreams(ContextImpl context) {
    if (revoked(What.CONTEXT, context.id(), Revocation.ofContext(core.rank))) {
      revocations.tell(context.key.group().ranks(), What.CONTEXT, context.id(), "");
    }
  }

  private void heard(RevocationMessage news) {
    if (!isOfStranger(news)) {
      revoked(news.what(), news.id(), news.by());
    }
  }

  /** As far as this rank knows the group. */
  private synchronized boolean isOfStranger(RevocationMessage news) {
    Stream<GroupKey> known =
        news.what() == What.GROUP
            ? groups.keySet().stream().filter(key -> key.id() == news.id())
            : contexts.values().stream()
                .filter(context -> context.id() == news.id())
                .map(context -> context.key.group());
    return known.anyMatch(key -> !key.ranks().contains(news.by().rank()));
  }

  /** Whether it is news. */
  private synchronized boolean revoked(What what, long id, Revocation by) {
    boolean first = revocations.add(what, id, by);
    if (first) {
      contexts.values().forEach(context -> tell(context, what, id, by));
    }
    return first;
  }

  private static void tell(ContextImpl context, What what, long id, Revocation by) {
    if (what == What.GROUP && context.key.group().id() == id) {
      context.revoked(by);
    } else if (what == What.CONTEXT && context.id() == id) {
      context.endStreams(by);
    }
  }

  /** Tells a new context what came before it. */
  private void tellEarlier(ContextImpl context) {
    GroupKey group = context.key.group();
    Revocation ofGroup = revocations.first(What.GROUP, group.id(), group.ranks());
    if (ofGroup != null) {
      context.revoked(ofGroup);
    }
    Revocation own = revocations.first(What.CONTEXT, context.id(), group.ranks());
    if (own != null) {
      context.endStreams(own);
    }
  }
}
