/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.am.Encoder;
import io.lci.internal.core.Thrown;
import io.lci.stream.Streams;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.util.context.Context;

/** The streams that this rank publishes, and the peers that wait for one. */
final class Names {
  private record Published<T>(Publisher<? extends T> source, Encoder<? super T> encoder) {
    void answer(Exchange exchange) {
      exchange.answer(source, encoder, Context.empty());
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final SessionTable owner;
  private final Map<String, Published<?>> published = new ConcurrentHashMap<>();

  /** Loop only. */
  private final Map<String, Set<Exchange>> awaiting = new HashMap<>();

  Names(SessionTable owner) {
    this.owner = owner;
  }

  /** A name as it travels; {@code argument} is what callers know it by. */
  static byte[] bytes(String name, String argument) {
    Objects.requireNonNull(name, argument);
    byte[] bytes = OutFrame.utf8(name, OutFrame.beyond(Streams.MAX_NAME));
    if (bytes.length == 0 || bytes.length > Streams.MAX_NAME) {
      throw new IllegalArgumentException(
          "a name has 1 to " + Streams.MAX_NAME + " bytes in UTF-8: \"" + name + '"');
    }
    return bytes;
  }

  <T> Disposable publish(String name, Publisher<? extends T> source, Codec<T> codec) {
    Published<T> mine = new Published<>(source, codec);
    Published<?> other = published.putIfAbsent(name, mine);
    if (other != null) {
      throw new IllegalStateException(
          "this rank publishes \"" + name + "\" already: " + other.source());
    }
    owner.home().execute(() -> came(name), () -> {});
    return Disposables.composite(() -> published.remove(name, mine));
  }

  private void came(String name) {
    Published<?> found = published.get(name);
    Set<Exchange> all = found == null ? null : awaiting.remove(name);
    if (all != null) {
      List.copyOf(all).forEach(exchange -> begin(found, exchange));
    }
  }

  private static void begin(@Nullable Published<?> found, Exchange exchange) {
    exchange.stopTimer();
    Objects.requireNonNull(found).answer(exchange);
  }

  /** A peer subscribes. */
  void accept(Exchange exchange, int awaitMillis) {
    Published<?> found = published.get(exchange.name);
    if (found != null) {
      found.answer(exchange);
    } else if (awaitMillis == 0) {
      refuse(exchange, "");
    } else {
      try {
        exchange.timer(
            owner.later(() -> expired(exchange, awaitMillis), Duration.ofMillis(awaitMillis)),
            Context.empty());
      } catch (Throwable e) { // it would wait for ever
        Exceptions.throwIfJvmFatal(e);
        Thrown.log(
            e, what -> LOG.warn("{}: the timer takes no waiting", exchange.operation(), what));
        refuse(exchange, ", and cannot wait for it: its timer takes nothing");
        return;
      }
      awaiting.computeIfAbsent(exchange.name, name -> new LinkedHashSet<>()).add(exchange);
    }
  }

  private void expired(Exchange exchange, int awaitMillis) {
    if (forget(exchange)) {
      refuse(exchange, " within " + awaitMillis + " ms");
    }
  }

  private void refuse(Exchange exchange, String when) {
    exchange.refuse(
        WireError.of(
            WireError.NO_STREAM,
            "rank " + owner.rank() + " publishes no stream \"" + exchange.name + '"' + when));
  }

  /** Whether it waited. */
  boolean forget(Exchange exchange) {
    Set<Exchange> all = awaiting.get(exchange.name);
    if (all == null || !all.remove(exchange)) {
      return false;
    }
    if (all.isEmpty()) {
      awaiting.remove(exchange.name);
    }
    return true;
  }
}
