/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rma;

import io.lci.am.Payload;
import io.lci.am.Port;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * A region of another rank's memory, or of this one's, opened from its handle by {@link
 * Memory#remote}.
 *
 * <p>Offsets count from the start of the region and are checked at the caller: {@link
 * IndexOutOfBoundsException}. Every Mono is cold: each subscription is one operation, posted at its
 * first request, signalled on loop 0; for other loops, deadlines and targets use {@link
 * io.lci.Op#put}, {@link io.lci.Op#get} and {@link io.lci.Op#getAndAdd} with {@link
 * io.lci.LciRuntime#post(io.lci.Op)}. Cancel removes an operation that was not yet accepted; a
 * posted one runs out silently. Errors: {@link io.lci.error.MemoryClosedException} when the owner
 * ended the region or this was disposed, {@link io.lci.error.PeerFailedException}, {@link
 * io.lci.error.PeerLeftException}, {@link io.lci.error.ResourceExhaustedException}, {@link
 * io.lci.error.LciClosedException}; with a signal {@link io.lci.error.PortClosedException}, too.
 *
 * <p>A buffer of the caller is in use until the Mono has ended: the target of a get, and a payload
 * above 192 bytes that is an {@link LciBuffer} or a list of them. After a cancel it stays in use as
 * long as the operation, and no signal tells when that ends: leave the buffer to the garbage
 * collector.
 *
 * @since 0.1
 */
public interface RemoteMemory extends Disposable {
  /** {@return the rank whose memory it is} */
  int rank();

  /** {@return the length of the region in bytes} */
  long size();

  /**
   * Names a place in the region, for lists.
   *
   * @param offset bytes from the start of the region
   * @return the place
   */
  default RemotePlace at(long offset) {
    return new RemotePlace(this, offset);
  }

  /**
   * Writes.
   *
   * @param offset where in the region
   * @param payload what to write
   * @return completes when the data is in the region
   */
  Mono<Void> put(long offset, Payload payload);

  /**
   * Writes, then signals a port of the owner: its inbox gets an empty message with {@code tag},
   * after the data.
   *
   * @param offset where in the region
   * @param payload what to write
   * @param port port of the owner; without credit there the operation waits and nothing is written
   * @param tag 0 to {@link io.lci.Op#MAX_SIGNAL_TAG}
   * @return completes when the data is in the region and the signal on its way
   */
  Mono<Void> putWithSignal(long offset, Payload payload, Port port, long tag);

  /**
   * Reads into a buffer of the caller, without a copy.
   *
   * @param offset where in the region
   * @param target filled from its start to its end; after a cancel it may still be written
   * @return completes when the data is in the buffer
   */
  Mono<Void> get(long offset, LciBuffer target);

  /**
   * Reads.
   *
   * @param offset where in the region
   * @param length bytes
   * @return emits the bytes, a copy
   */
  Mono<byte[]> get(long offset, int length);

  /**
   * Reads into a buffer, then signals a port of the owner that its memory was read.
   *
   * @param offset where in the region
   * @param target filled from its start to its end; after a cancel it may still be written
   * @param port port of the owner; without credit there the operation waits and nothing is read
   * @param tag 0 to {@link io.lci.Op#MAX_SIGNAL_TAG}
   * @return completes when the data is in the buffer and the signal on its way
   */
  Mono<Void> getWithSignal(long offset, LciBuffer target, Port port, long tag);

  /**
   * Adds to a long of the region in one step; sums wrap around.
   *
   * <p>Atomic operations of all ranks on a long are atomic with each other, not with puts, gets and
   * plain access of its owner. With the value, the long has changed exactly once. After {@link
   * io.lci.error.MemoryClosedException} it has not changed. After the end of the owner or of this
   * runtime, and after a cancel, it has changed once or not at all.
   *
   * @param offset where in the region: a multiple of 8, else {@link IllegalArgumentException}; the
   *     region itself starts at a multiple of 8, as allocated regions do
   * @param delta what to add
   * @return emits the value after the addition
   */
  Mono<Long> addAndGet(long offset, long delta);

  /**
   * Stores a long in one step; see {@link #addAndGet}.
   *
   * @param offset where in the region: a multiple of 8
   * @param value what to store
   * @return emits the value before
   */
  Mono<Long> getAndSet(long offset, long value);

  /**
   * Stores a long in one step if the region has the expected value there; see {@link #addAndGet}.
   *
   * @param offset where in the region: a multiple of 8
   * @param expected the value that is replaced
   * @param value what to store
   * @return emits whether the value was the expected one, and was replaced
   */
  Mono<Boolean> compareAndSet(long offset, long expected, long value);

  /** Closes it for this rank; the region itself stays. Operations under way go on. */
  @Override
  void dispose();
}
