/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.netty.channel.Channel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.time.Duration;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The connections of clients, which keep them for their next request. When the service ends, their
 * next answer says so: until then a client cannot know, and would send a request in vain.
 */
final class KeptConnections {
  private static final Duration LOOK = Duration.ofMillis(20);
  private static final AttributeKey<Boolean> TOLD = AttributeKey.newInstance("kv.told");

  private final ChannelGroup group = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private volatile boolean ending;

  /** What the server is to keep its connections in. */
  ChannelGroup group() {
    return group;
  }

  /** To be called with each answer, before it begins. */
  void answering(HttpServerResponse response) {
    if (ending) {
      response.keepAlive(false);
      response.withConnection(connection -> connection.channel().attr(TOLD).set(true));
    }
  }

  boolean isEnding() {
    return ending;
  }

  /**
   * From now on each answer is the last of its connection. Waits until every connection is closed,
   * or has begun its last answer. One whose answer began before gets another one.
   *
   * @param limit how long at most
   */
  void end(Duration limit) {
    ending = true;
    long begin = System.nanoTime();
    try {
      while (!group.stream().allMatch(KeptConnections::isTold)
          && System.nanoTime() - begin < limit.toNanos()) {
        Thread.sleep(LOOK.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the end goes on without them
    }
  }

  private static boolean isTold(Channel connection) {
    return Boolean.TRUE.equals(connection.attr(TOLD).get());
  }
}
