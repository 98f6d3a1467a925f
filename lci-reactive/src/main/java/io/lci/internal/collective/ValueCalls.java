/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.collective.Vec;
import io.lci.internal.lane.PooledBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BinaryOperator;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;

/**
 * Calls with values of a codec, of which no member knows how long those of others are. What code of
 * the program throws before the bytes travel goes along in their place, so all members hear of it.
 * Loop only.
 */
final class ValueCalls {
  private final Parts parts;
  private final int own;
  private final int size;

  ValueCalls(Parts parts) {
    this.parts = parts;
    this.own = parts.own();
    this.size = parts.size();
  }

  <T> Mono<T> broadcast(int root, @Nullable T value, Codec<T> codec) {
    if (own == root) {
      T given = Objects.requireNonNull(value);
      return fromRoot(root, Content.encoded(given, codec)).thenReturn(given);
    }
    return fromRoot(root, null).map(content -> decode(content, root, codec));
  }

  <T> Mono<List<T>> allGather(T value, Codec<T> codec) {
    return heads(Content.encoded(value, codec))
        .flatMap(all -> restToAll(all))
        .map(all -> values(value, all, codec));
  }

  private <T> List<T> values(T own, Content[] all, Codec<T> codec) {
    List<T> values = new ArrayList<>(size);
    for (int member = 0; member < size; member++) {
      values.add(member == this.own ? own : decode(all[member], member, codec));
    }
    return values;
  }

  <T> Mono<T> allReduce(T value, Codec<T> codec, BinaryOperator<T> op) {
    return heads(Content.encoded(value, codec))
        .flatMap(all -> restToFirst(all))
        .flatMap(
            all -> fromRoot(0, own == 0 ? Content.of(() -> reduce(value, all, codec, op)) : null))
        .map(result -> decode(result, 0, codec));
  }

  /** In the order of members. */
  private <T> byte[] reduce(T first, Content[] all, Codec<T> codec, BinaryOperator<T> op) {
    T reduced = first;
    for (int member = 1; member < size; member++) {
      T next = decoded(all[member].bytes(), member, codec);
      reduced = Objects.requireNonNull(op.apply(reduced, next), "result of the operator");
    }
    return Content.encode(reduced, codec);
  }

  // Moving contents

  /**
   * The content of the root, at all members; an error on all if it is one.
   *
   * @param mine at the root
   */
  Mono<Content> fromRoot(int root, @Nullable Content mine) {
    return fromRoot(root, mine, Mono::empty);
  }

  /**
   * The same with another part behind it, which is made if the content is no error.
   *
   * @param behind makes it
   */
  Mono<Content> fromRoot(int root, @Nullable Content mine, Supplier<Mono<Void>> behind) {
    byte[] head = mine == null ? new byte[Content.HEAD] : mine.head();
    return parts
        .make(parts.maker().broadcast(root, Vec.bytes(head)))
        .then(Mono.defer(() -> restOf(root, mine == null ? Content.of(head, 0) : mine, behind)));
  }

  private Mono<Content> restOf(int root, Content known, Supplier<Mono<Void>> behind) {
    Mono<Void> rest = Mono.empty();
    Content content = known;
    if (!known.isShort()) {
      content = own == root ? known : known.with(PooledBuffer.heap(known.length()));
      rest = parts.make(parts.maker().broadcast(root, Vec.bytes(content.bytes())));
    }
    return settled(root, content, rest, behind);
  }

  private Mono<Content> settled(
      int root, Content content, Mono<Void> rest, Supplier<Mono<Void>> behind) {
    if (content.failed()) {
      return rest.then(Mono.error(() -> parts.failed(root, content.text(), content.thrown())));
    }
    Mono<Void> last = behind.get();
    parts.settled();
    return rest.then(last).thenReturn(content);
  }

  /** The contents of all members as far as they are short; an error on all if one failed. */
  private Mono<Content[]> heads(Content mine) {
    byte[] heads = new byte[Content.HEAD * size];
    return parts
        .make(parts.maker().allGather(Vec.bytes(mine.head()), Vec.bytes(heads)))
        .then(Mono.defer(() -> read(heads, mine)));
  }

  private Mono<Content[]> read(byte[] heads, Content mine) {
    Content[] all = new Content[size];
    for (int member = 0; member < size; member++) {
      all[member] = member == own ? mine : Content.of(heads, member);
    }
    for (int member = 0; member < size; member++) {
      if (all[member].failed()) {
        return restOf(member, all[member], Mono::empty).thenReturn(all);
      }
    }
    return Mono.just(all);
  }

  private Mono<Content[]> restToAll(Content[] all) {
    return rest(
        all,
        true,
        (mine, rest, counts) -> {
          Mono<Void> moved = parts.make(parts.maker().allGather(mine, rest, counts));
          parts.settled();
          return moved;
        });
  }

  /** To member 0; the others keep what they have. */
  private Mono<Content[]> restToFirst(Content[] all) {
    return rest(
        all,
        own == 0,
        (mine, rest, counts) -> parts.make(parts.maker().gather(0, mine, rest, counts)));
  }

  /** Moves what does not fit into heads. */
  private interface Mover {
    Mono<Void> move(Vec mine, Vec rest, long[] counts);
  }

  /** All members know all lengths, so they know alike whether there is a rest. */
  private Mono<Content[]> rest(Content[] all, boolean wanted, Mover mover) {
    long[] counts = new long[size];
    for (int member = 0; member < size; member++) {
      counts[member] = all[member].isShort() ? 0 : all[member].length();
    }
    int sum = Math.toIntExact(LongStream.of(counts).sum());
    if (sum == 0) {
      return Mono.just(all);
    }
    byte[] rest = PooledBuffer.heap(wanted ? sum : 0);
    byte[] mine = counts[own] == 0 ? new byte[0] : all[own].bytes();
    Mono<Void> moved = mover.move(Vec.bytes(mine), Vec.bytes(rest), counts);
    return wanted ? moved.then(Mono.fromSupplier(() -> filled(all, rest))) : moved.thenReturn(all);
  }

  private static Content[] filled(Content[] all, byte[] rest) {
    int at = 0;
    for (int member = 0; member < all.length; member++) {
      if (!all[member].isShort()) {
        int end = at + all[member].length();
        all[member] = all[member].with(Arrays.copyOfRange(rest, at, end));
        at = end;
      }
    }
    return all;
  }

  // Reading

  private <T> T decode(Content content, int member, Codec<T> codec) {
    try {
      return decoded(content.bytes(), member, codec);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      throw parts.gaveUp(e);
    }
  }

  private <T> T decoded(byte[] bytes, int member, Codec<T> codec) {
    Message message = new Message(parts.worldRank(member), 0, bytes);
    return Objects.requireNonNull(codec.decode(message), "item of the codec");
  }
}
