/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.internal.HandSource;
import io.lci.rpc.RpcHandler;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** The requests of a channel, to which the handler's code subscribes on any thread. */
public class TapStressTest {
  /** A channel whose handler leaves the requests to the test, and whose first request came. */
  private static final class Served {
    final HandSource<Payload> source = new HandSource<>();
    private final Sinks.Empty<Payload> answer = Sinks.empty();
    private Flux<Message> requests;
    private final Peers peers =
        new Peers(
            new RpcHandler() {
              @Override
              public Publisher<Payload> requestChannel(int rank, Flux<Message> incoming) {
                requests = incoming;
                return answer.asMono();
              }
            });

    Served() {
      Heard<Message> caller = new Heard<>(1);
      peers.call(source, caller);
      peers.become();
      source.subscriber().onNext(peers.item());
      peers.net.run();
      peers.net.drivenBy(null);
    }

    /** The server ends, too. Returns what is left over. */
    int leftOver() {
      peers.run();
      answer.tryEmitEmpty().orThrow();
      return peers.leftOver();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "the request, and the end")
  @State
  public static class SubscribeAndEnd {
    private final Served served = new Served();
    private final Heard<Message> heard = new Heard<>(1);

    @Actor
    public void loop() {
      served.peers.become();
      served.source.subscriber().onComplete();
      served.peers.run();
    }

    @Actor
    public void handler() {
      served.requests.subscribe(heard);
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = served.leftOver();
      result.r1 = heard.items.size();
      result.r2 = heard.completed ? 1 : 0;
    }
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "one gets it, the other is refused")
  @State
  public static class SubscribeAndSubscribe {
    private final Served served = new Served();
    private final AtomicInteger items = new AtomicInteger();
    private final AtomicInteger errors = new AtomicInteger();

    private void subscribe() {
      served.requests.subscribe(item -> items.incrementAndGet(), error -> errors.incrementAndGet());
    }

    @Actor
    public void one() {
      subscribe();
    }

    @Actor
    public void other() {
      subscribe();
    }

    @Arbiter
    public void judge(III_Result result) {
      served.peers.become();
      served.source.subscriber().onComplete();
      result.r3 = served.leftOver();
      result.r1 = items.get();
      result.r2 = errors.get();
    }
  }
}
