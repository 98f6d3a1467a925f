/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.am.Message;
import io.lci.error.TruncatedException;
import io.lci.internal.collective.RevocationMessage.What;
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

  // Guarded by this
  private final Map<Long, Revocation> groups = new HashMap<>();
  private final Map<Long, Revocation> contexts =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Revocation> eldest) {
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

  /** The first one stays; returns whether this is it. */
  synchronized boolean add(What what, long id, Revocation by) {
    return (what == What.GROUP ? groups : contexts).putIfAbsent(id, by) == null;
  }

  synchronized @Nullable Revocation ofGroup(long id) {
    return groups.get(id);
  }

  synchronized @Nullable Revocation ofContext(long id) {
    return contexts.get(id);
  }

  /** It is gone, or what came was no word of a member. */
  synchronized void forgetContext(long id) {
    contexts.remove(id);
  }
}
