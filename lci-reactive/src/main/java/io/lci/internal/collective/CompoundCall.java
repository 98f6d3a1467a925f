/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.error.ProtocolException;
import io.lci.internal.core.Thrown;
import io.lci.internal.lane.CallData;
import io.lci.internal.lane.CollectiveKind;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.loop.LoopSubscription;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * A call that is made of several of the core, its parts. It begins with the first request, and goes
 * on whoever leaves. No other call of its context comes between its parts. Loop only.
 *
 * @param <T> of the result; a call that has none ends with null
 */
final class CompoundCall<T> extends LoopSubscription<T> implements Parts {
  /** Parts may outlive the subscriber, and must not keep it: they know this instead. */
  private static final class Leaving {
    boolean hasLeft;
  }

  private final ContextImpl context;
  private final CollectiveKind kind;
  private final Function<Parts, Mono<T>> recipe;
  private final Leaving leaving = new Leaving();

  private boolean asked;
  private boolean settled;
  private boolean ended;
  private @Nullable T result;
  private @Nullable Throwable failure;

  CompoundCall(
      ContextImpl context,
      CoreSubscriber<? super T> actual,
      CollectiveKind kind,
      Function<Parts, Mono<T>> recipe) {
    super(context.loop(), actual);
    this.context = context;
    this.kind = kind;
    this.recipe = recipe;
  }

  @Override
  public void drain() {
    if (!asked && isWanted()) {
      asked = true;
      ask();
    } else if (!asked && isOver()) {
      asked = true;
      ended = true;
      context.left();
    }
    if (ended && !isOver()) {
      signal();
    }
  }

  private void ask() {
    try {
      context.began(kind);
    } catch (RuntimeException e) {
      ended = true;
      context.left();
      fail(e);
      return;
    }
    loop.activate(this);
    context.turnstile.execute(this::start);
  }

  private void signal() {
    if (failure != null) {
      fail(failure);
      return;
    }
    if (result != null) {
      emit(result);
    }
    complete();
  }

  private void start() {
    RuntimeException refused = context.refusal(kind);
    if (refused != null) {
      settled = true; // it holds nobody
      end(refused);
      return;
    }
    context.turnstile.close();
    Mono.defer(() -> recipe.apply(this))
        .subscribe(value -> result = value, this::end, () -> end(null));
  }

  private void end(@Nullable Throwable reason) {
    failure = reason;
    if (reason instanceof PooledBuffer.NoMemory) {
      context.giveUp();
      failure = context.noMemory(kind, reason);
    } else if (reason instanceof ProtocolException && !settled) {
      failure = gaveUp(reason); // it makes fewer parts than the others
    }
    ended = true;
    settled();
    loop.deactivate(this);
    context.left();
    context.ended();
    schedule();
  }

  /** It stays active: a close waits for it, as for any call. */
  @Override
  public void onCancel() {
    leaving.hasLeft = true;
    schedule(); // it may have been asked for, and not begun
  }

  @Override
  protected boolean holdsClose() {
    return asked && !ended;
  }

  // Parts

  @Override
  public int own() {
    return context.group().rank();
  }

  @Override
  public int size() {
    return context.group().size();
  }

  @Override
  public int worldRank(int member) {
    return context.group().worldRank(member);
  }

  @Override
  public CallMaker maker() {
    return context.parts;
  }

  @Override
  public Mono<Void> make(CallData part) {
    return begun(context.part(part, () -> false));
  }

  @Override
  public Mono<Void> makeInto(CallData part) {
    Leaving ours = leaving;
    return begun(context.part(part, () -> ours.hasLeft));
  }

  private static Mono<Void> begun(Mono<Void> part) {
    Mono<Void> made = part.cache();
    made.subscribe(null, error -> {});
    return made;
  }

  @Override
  public void settled() {
    if (!settled) {
      settled = true;
      context.turnstile.open();
    }
  }

  @Override
  public RuntimeException failed(int member, String text, @Nullable Throwable cause) {
    context.fail(Revocation.ofThrower(worldRank(member), text));
    return caused(cause);
  }

  @Override
  public RuntimeException gaveUp(Throwable cause) {
    context.revoked(Revocation.ofThrower(worldRank(own()), Thrown.text(cause)));
    return caused(cause);
  }

  private RuntimeException caused(@Nullable Throwable cause) {
    RuntimeException error = Objects.requireNonNull(context.refusal(kind));
    if (cause != null) {
      error.initCause(cause);
    }
    return error;
  }
}
