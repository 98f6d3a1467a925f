/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.internal.core.CoreRuntime;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.matching.Tagged;
import java.util.Objects;
import reactor.core.publisher.Mono;

/** Sends and receives that match, as users see them. Any thread. */
public final class TaggedImpl implements Tagged {
  private final CoreRuntime core;
  private final Posting posting;

  public TaggedImpl(CoreRuntime core, Posting posting) {
    this.core = core;
    this.posting = posting;
  }

  @Override
  public Mono<Void> send(int rank, long tag, Payload payload) {
    return posting.one(Op.send(rank, tag, payload), OpResult.NOTHING);
  }

  @Override
  public Mono<Message> receive(int rank, long tag) {
    return receive(rank, tag, core.options.maxReceiveBytes());
  }

  @Override
  public Mono<Message> receive(int rank, long tag, int maxBytes) {
    return posting.one(Op.receive(rank, tag, maxBytes), OpResult.MESSAGE);
  }

  @Override
  public MatchingEngine engine(int number, EngineOptions options) {
    Objects.requireNonNull(options, "options");
    if (number < 1 || number > MatchingEngine.MAX_NUMBER) {
      throw new IllegalArgumentException(
          "engines have numbers 1 to " + MatchingEngine.MAX_NUMBER + ": " + number);
    }
    core.ending.refuse("create engine");
    return EngineImpl.create(core, number, options);
  }
}
