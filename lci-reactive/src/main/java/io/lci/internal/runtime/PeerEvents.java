/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.PeerEvent;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/**
 * The changes of peers' states so far, replayed to every subscriber on loop 0. At most a few per
 * peer.
 */
final class PeerEvents extends Flux<PeerEvent> {
  private final EventLoop loop;

  // Loop only
  private final List<PeerEvent> events = new ArrayList<>();
  private final Set<Reader> readers = new LinkedHashSet<>();
  private boolean complete;

  PeerEvents(EventLoop loop) {
    this.loop = loop;
  }

  void add(PeerEvent event) {
    events.add(event);
    readers.forEach(Reader::schedule);
  }

  /** Everything that will ever come has come. */
  void complete() {
    complete = true;
    readers.forEach(Reader::schedule);
  }

  @Override
  public void subscribe(CoreSubscriber<? super PeerEvent> actual) {
    new Reader(actual).begin();
  }

  private final class Reader extends LoopSubscription<PeerEvent> {
    private int next;

    Reader(CoreSubscriber<? super PeerEvent> actual) {
      super(PeerEvents.this.loop, actual);
    }

    @Override
    public void drain() {
      if (!isOver()) {
        readers.add(this);
      }
      while (demand > 0 && next < events.size() && !isOver()) {
        emit(events.get(next++));
      }
      if (complete && !isOver()) {
        onCancel();
        complete();
      }
    }

    @Override
    public void onCancel() {
      readers.remove(this);
    }
  }
}
