/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.collective.Group;
import io.lci.collective.GroupStreams;
import io.lci.collective.ReduceOp;
import io.lci.collective.Sourced;
import io.lci.collective.StreamOptions;
import io.lci.collective.Vec;
import io.lci.internal.collective.StreamMembers;
import java.util.Objects;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/** The streams of a context as users see them. Any thread. */
final class GroupStreamsImpl implements GroupStreams {
  final Hub hub;
  private final StreamMembers members;

  GroupStreamsImpl(Hub hub, StreamMembers members) {
    this.hub = hub;
    this.members = members;
  }

  @Override
  public <T> Flux<T> shuffle(
      Publisher<? extends T> source,
      ToIntFunction<? super T> owner,
      Codec<T> codec,
      StreamOptions options) {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(owner, "owner");
    Objects.requireNonNull(codec, "codec");
    Objects.requireNonNull(options, "options");
    Shape shape = new Shape(StreamKind.SHUFFLE, 0, members.group());
    return flux(
        new StreamPlan<>(shape, source, owner, codec, options, (member, item) -> item, null));
  }

  @Override
  public <T> Flux<Sourced<T>> gather(
      int root, Publisher<? extends T> source, Codec<T> codec, StreamOptions options) {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(codec, "codec");
    Objects.requireNonNull(options, "options");
    Shape shape = new Shape(StreamKind.GATHER, checkRoot(root), members.group());
    return flux(
        new StreamPlan<>(shape, source, item -> root, codec, options, Sourced<T>::new, null));
  }

  @Override
  public <T> Flux<T> broadcast(
      int root, @Nullable Publisher<? extends T> source, Codec<T> codec, StreamOptions options) {
    Shape shape = new Shape(StreamKind.BROADCAST, checkRoot(root), members.group());
    Publisher<? extends T> items = shape.self() == root ? source : Flux.<T>empty();
    Objects.requireNonNull(items, "source");
    Objects.requireNonNull(codec, "codec");
    Objects.requireNonNull(options, "options");
    return flux(
        new StreamPlan<>(shape, items, item -> root, codec, options, (m, item) -> item, null));
  }

  @Override
  public Flux<Vec> allReduce(Publisher<Vec> chunks, ReduceOp op, StreamOptions options) {
    Objects.requireNonNull(chunks, "chunks");
    Objects.requireNonNull(op, "op");
    Objects.requireNonNull(options, "options");
    Shape shape = new Shape(StreamKind.ALL_REDUCE, ReduceOp.all().indexOf(op), members.group());
    return flux(
        new StreamPlan<>(
            shape,
            Flux.from(chunks).map(chunk -> Chunk.of(chunk, op)),
            chunk -> 0,
            Chunk.CODEC,
            options,
            GroupStreamsImpl::notOne,
            () -> new Reductions(members, op, options.windowItems())));
  }

  private static Vec notOne(int member, Chunk chunk) {
    throw new IllegalStateException("chunks are emitted by rounds");
  }

  private int checkRoot(int root) {
    Group group = members.group();
    if (root < 0 || root >= group.size()) {
      throw new IllegalArgumentException(
          "members are 0 to " + (group.size() - 1) + ", and the root is " + root);
    }
    return root;
  }

  private <T, R> Flux<R> flux(StreamPlan<T, R> plan) {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super R> actual) {
        RuntimeException refusal = members.subscribed(plan.shape().operation());
        if (refusal != null) {
          Operators.error(actual, refusal);
        } else {
          new GroupStream<>(hub, members, plan, actual).begin();
        }
      }
    };
  }
}
