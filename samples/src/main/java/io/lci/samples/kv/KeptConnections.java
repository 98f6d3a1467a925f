/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.netty.channel.Channel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.time.Duration;
import reactor.netty.channel.ChannelOperations;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The connections of clients, which keep them for their next request. When the service ends, their
 * next answer says so: until then a client cannot know, and would send a request in vain.
 */
final class KeptConnections {
  private static final Duration LOOK = Duration.ofMillis(20);

  /**
   * Whether the last answer of a connection let its client keep it; absent before the first one.
   */
  private static final AttributeKey<Boolean> KEPT = AttributeKey.newInstance("kv.kept");

  private final ChannelGroup group = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private volatile boolean ending;

  /** What the server is to keep its connections in. */
  ChannelGroup group() {
    return group;
  }

  /** To be called with each answer, before it begins. */
  void answering(HttpServerResponse response) {
    response.withConnection(
        connection -> {
          // First, so that the end sees the connection, or this sees the end.
          connection.channel().attr(KEPT).set(true);
          if (ending) {
            connection.channel().attr(KEPT).set(false);
            response.keepAlive(false);
          }
        });
  }

  boolean isEnding() {
    return ending;
  }

  /**
   * From now on each answer is the last of its connection. Waits until no connection is left that
   * waits for a request, or will after an answer that has begun.
   *
   * @param limit how long at most
   */
  void end(Duration limit) {
    ending = true;
    long begin = System.nanoTime();
    try {
      while (group.stream().anyMatch(KeptConnections::isAwaited)
          && System.nanoTime() - begin < limit.toNanos()) {
        Thread.sleep(LOOK.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the end goes on without them
    }
  }

  /** Whether its client may send a request that it could know to be in vain by no answer. */
  private static boolean isAwaited(Channel connection) {
    Boolean kept = connection.attr(KEPT).get();
    return kept == null ? ChannelOperations.get(connection) == null : kept;
  }
}
