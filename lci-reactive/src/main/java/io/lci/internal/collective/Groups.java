/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import io.lci.error.LciException;
import io.lci.error.TruncatedException;
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
import reactor.core.publisher.Mono;

/** The groups of a runtime and their contexts: one of each for equal arguments. Any thread. */
final class Groups {
  final CoreRuntime core;
  final StreamRoom streams;
  private final PerLoop<Outbox> outboxes;
  private final CallMessages messages;

  // Guarded by this
  private final Map<GroupKey, GroupImpl> groups = new HashMap<>();
  private final Map<ContextKey, ContextImpl> contexts = new HashMap<>();
  private final BitSet numbers = new BitSet();

  /** Those that were revoked, also such as this rank has not made, by {@link GroupKey#id}. */
  private final Map<Long, Revocation> revoked = new HashMap<>();

  private boolean hears;

  Groups(CoreRuntime core, PerLoop<Outbox> outboxes, CallMessages messages, StreamRoom streams) {
    this.core = core;
    this.streams = streams;
    this.outboxes = outboxes;
    this.messages = messages;
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
    groups.put(key, group);
    return group;
  }

  /** The world, which is there before it is asked for. */
  synchronized void add(GroupImpl group) {
    groups.put(group.key, group);
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
    core.gate.with(() -> core.calls.groupFree(group.handle), Codes.DONE);
  }

  synchronized ContextImpl context(GroupImpl group, long key, int device) {
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
    hear();
    Outbox outbox = outboxes.of(device);
    NativeScratch out = new NativeScratch(2);
    core.gate.ask("create context", device, () -> create(group, key, device, out));
    int number = numbers.nextClearBit(0);
    ContextImpl context =
        new ContextImpl(core, this, group, wanted, outbox, out.getLong(0), out.getLong(1), number);
    numbers.set(number);
    contexts.put(wanted, context);
    Revocation by = revoked.get(group.key.id());
    if (by != null) {
      context.revoked(by);
    }
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
    return core.gate.with(() -> core.calls.contextFree(handle), Codes.DONE);
  }

  /** Asks that unless the context has been freed; it is not meanwhile. */
  synchronized <T> T whileThere(ContextImpl context, Supplier<T> what, T otherwise) {
    return contexts.get(context.key) == context ? what.get() : otherwise;
  }

  /** Does that unless the context has been freed; it is not meanwhile. */
  synchronized void whileThere(ContextImpl context, Runnable what) {
    if (contexts.get(context.key) == context) {
      what.run();
    }
  }

  // Revocation

  /** On every member, also of contexts that are made later. */
  void revoke(GroupKey group, String reason) {
    core.ending.refuse("revoke group");
    Revocation by = Revocation.ofGroup(core.rank, reason);
    if (!revoked(group.id(), by)) {
      return;
    }
    byte[] news = Revocation.message(group.id(), reason);
    for (int rank : group.ranks()) {
      if (rank != core.rank) {
        messages.tell(rank, CallMessages.Kind.REVOKED, news).subscribe(null, gone -> {});
      }
    }
  }

  /** Whether it is news. */
  private synchronized boolean revoked(long id, Revocation by) {
    if (revoked.putIfAbsent(id, by) != null) {
      return false;
    }
    contexts.values().stream()
        .filter(context -> context.key.group().id() == id)
        .forEach(context -> context.revoked(by));
    return true;
  }

  /** From the first context on: without one there is nothing to revoke. */
  private synchronized void hear() {
    if (!hears) {
      hears = true;
      messages
          .receiveAny(CallMessages.Kind.REVOKED)
          .onErrorResume(TruncatedException.class, tooLong -> Mono.empty())
          .repeat()
          .subscribe(this::heard, closing -> {});
    }
  }

  /** What makes no sense is left out. */
  private void heard(Message message) {
    if (!Revocation.isOne(message)) {
      return;
    }
    long id = Revocation.group(message);
    if (isNoMember(id, message.rank())) {
      return;
    }
    revoked(id, Revocation.of(message));
  }

  /** As far as this rank knows the group. */
  private synchronized boolean isNoMember(long id, int rank) {
    return groups.keySet().stream().anyMatch(key -> key.id() == id && !key.ranks().contains(rank));
  }
}
