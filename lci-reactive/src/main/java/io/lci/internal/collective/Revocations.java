/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import io.lci.error.TruncatedException;
import io.lci.internal.collective.RevocationMessage.What;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * What was given up, as members tell each other: groups, and contexts for the sake of their
 * streams. Also such as this rank has not made. Any thread.
 */
final class Revocations {
  /**
   * Contexts of others that are remembered, the last ones: so many may a rank have at a time. Which
   * of them come here later is not known.
   */
  static final int MOST_CONTEXTS = 1_024;

  /** The same of groups that are not here. */
  static final int MOST_GROUPS = 1_024;

  private final int self;
  private final CallMessages messages;

  // Guarded by this. A word of each rank: who is a member is known when the group is made here
  private final Map<Long, List<Revocation>> groups = new HashMap<>();
  private final Map<Long, List<Revocation>> otherGroups = lastOnes(MOST_GROUPS);
  private final Map<Long, List<Revocation>> contexts = lastOnes(MOST_CONTEXTS);

  private boolean hears;

  Revocations(int self, CallMessages messages) {
    this.self = self;
    this.messages = messages;
  }

  private static Map<Long, List<Revocation>> lastOnes(int most) {
    return new LinkedHashMap<>() {
      private static final long serialVersionUID = 1;

      @Override
      protected boolean removeEldestEntry(Map.Entry<Long, List<Revocation>> eldest) {
        return size() > most;
      }
    };
  }

  /** Hears of them, from now on. */
  void hear(Consumer<RevocationMessage> heard) {
    synchronized (this) {
      if (hears) {
        return;
      }
      hears = true;
    }
    messages
        .receiveAny(CallMessages.Kind.REVOKED)
        .onErrorResume(TruncatedException.class, tooLong -> Mono.empty())
        .repeat()
        .subscribe(message -> read(message, heard), closing -> {});
  }

  /** What makes no sense is left out. */
  private static void read(Message message, Consumer<RevocationMessage> heard) {
    RevocationMessage news = RevocationMessage.read(message);
    if (news != null) {
      heard.accept(news);
    }
  }

  /** Tells the other members. */
  void tell(List<Integer> ranks, What what, long id, String reason) {
    byte[] news = RevocationMessage.of(what, id, reason);
    for (int rank : ranks) {
      if (rank != self) {
        messages.tell(rank, CallMessages.Kind.REVOKED, news).subscribe(null, gone -> {});
      }
    }
  }

  /** The first one of a rank stays; returns whether this is the first one of all. */
  synchronized boolean add(What what, long id, Revocation by) {
    List<Revocation> words = words(what, id).computeIfAbsent(id, none -> new ArrayList<>(1));
    if (words.stream().noneMatch(word -> word.rank() == by.rank())) {
      words.add(by);
    }
    return words.size() == 1 && words.get(0) == by;
  }

  /** The first word of a member; those of strangers go. */
  synchronized @Nullable Revocation first(What what, long id, Collection<Integer> members) {
    List<Revocation> words = words(what, id).get(id);
    if (words == null) {
      return null;
    }
    words.removeIf(word -> !members.contains(word.rank()));
    return words.isEmpty() ? null : words.get(0);
  }

  private Map<Long, List<Revocation>> words(What what, long id) {
    if (what == What.CONTEXT) {
      return contexts;
    }
    return groups.containsKey(id) ? groups : otherGroups;
  }

  /** It is here: what is said of it is kept, whatever else is said. */
  synchronized void madeGroup(long id) {
    List<Revocation> earlier = otherGroups.remove(id);
    groups.putIfAbsent(id, earlier == null ? new ArrayList<>(1) : earlier);
  }

  /** It is gone, and may be made again. */
  synchronized void forgetGroup(long id) {
    List<Revocation> words = groups.remove(id);
    if (words != null && !words.isEmpty()) {
      otherGroups.put(id, words);
    }
  }

  /** It is gone. */
  synchronized void forgetContext(long id) {
    contexts.remove(id);
  }
}
