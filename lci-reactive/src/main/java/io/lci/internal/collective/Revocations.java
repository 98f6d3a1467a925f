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

  private final int self;
  private final CallMessages messages;

  // Guarded by this. A word of each rank: who is a member is known when the group is made here
  private final Map<Long, List<Revocation>> groups = new HashMap<>();
  private final Map<Long, List<Revocation>> contexts =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, List<Revocation>> eldest) {
          return size() > MOST_CONTEXTS;
        }
      };

  private boolean hears;

  Revocations(int self, CallMessages messages) {
    this.self = self;
    this.messages = messages;
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
    List<Revocation> words = words(what).computeIfAbsent(id, none -> new ArrayList<>(1));
    if (words.stream().noneMatch(word -> word.rank() == by.rank())) {
      words.add(by);
    }
    return words.size() == 1 && words.get(0) == by;
  }

  /** The first word of a member; those of strangers go. */
  synchronized @Nullable Revocation first(What what, long id, Collection<Integer> members) {
    List<Revocation> words = words(what).get(id);
    if (words == null) {
      return null;
    }
    words.removeIf(word -> !members.contains(word.rank()));
    if (words.isEmpty()) {
      words(what).remove(id);
      return null;
    }
    return words.get(0);
  }

  private Map<Long, List<Revocation>> words(What what) {
    return what == What.GROUP ? groups : contexts;
  }

  /** It is gone. */
  synchronized void forgetContext(long id) {
    contexts.remove(id);
  }
}
