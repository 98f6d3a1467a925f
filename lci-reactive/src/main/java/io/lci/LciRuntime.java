/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.collective.World;
import io.lci.completion.Completion;
import io.lci.completion.Completions;
import io.lci.error.LciException;
import io.lci.internal.runtime.Runtimes;
import io.lci.matching.Tagged;
import io.lci.rma.Memory;
import io.lci.rpc.Rpc;
import io.lci.stream.Streams;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * One rank of a job: the entry to everything. Thread-safe. Several runtimes may live in one
 * process.
 *
 * <pre>{@code
 * static final Port NUMBERS = Port.of(1, "numbers");
 *
 * try (LciRuntime lci = LciRuntime.create()) {
 *   int next = (lci.rank() + 1) % lci.size();
 *   Mono<Long> sum = lci.inbox(NUMBERS).receive(m -> m.getLong(0)).take(1000).reduce(0L, Long::sum);
 *   Mono<Void> sent = lci.sender(NUMBERS).sendAll(next, Flux.range(1, 1000), (n, out) -> out.putLong(n));
 *   System.out.println(Mono.zip(sum, sent.thenReturn(true)).block().getT1());
 *   lci.barrier().block(); // nobody leaves while others still wait
 * }
 * }</pre>
 *
 * <p><b>Parts.</b> Messages to ports are here: {@link #inbox} and {@link #sender}. {@link
 * #tagged()} has sends and receives that match by tag, {@link #memory()} remote memory, {@link
 * #completions()} completion objects and graphs, {@link #world()} calls that all ranks make, {@link
 * #streams()} and {@link #rpc()} exchanges with demand. {@link #post(Op)} takes any {@link Op}.
 *
 * <p><b>Threads.</b> All signals of an operation, inbox or sender come on its home loop, serially,
 * never inside another publisher's {@code onNext}. Do not block there.
 *
 * <p><b>Order.</b> Messages and sends have no order. Per destination, one sender's elements are
 * <em>posted</em> in order.
 *
 * <p><b>Failure.</b> When a peer dies, every operation bound to it ends with {@link
 * io.lci.error.PeerFailedException}; inboxes live on, and the event comes on {@link #peerEvents()}.
 *
 * <p><b>Log.</b> The library logs through SLF4J under the name of this interface, {@code
 * io.lci.LciRuntime}. ERROR: exceptions of user code that no subscriber can be told, and failures
 * that end a loop or all streams. WARN: destinations that accept nothing ({@link
 * LciOptions#stallWarning()}), loops that user code holds ({@link LciOptions#blockedWarning()}) or
 * that are not bound to their CPU, operations whose failure no subscriber heard, peers that died,
 * and peers that broke the protocol of streams. INFO: peers that left while an inbox has a
 * subscriber; without one that is DEBUG. DEBUG: the native core when it is loaded, and which calls
 * serve it; that is INFO if {@code java.lang.foreign} exists and cannot be used. Lines of the core
 * come as {@code io.lci.core}, each at its level.
 *
 * @since 0.1
 */
public interface LciRuntime extends Disposable, AutoCloseable {
  /**
   * Joins the job with default options: the launcher's rank and size, or alone as rank 0 of 1.
   * Blocks until every rank has arrived, at most for {@code lci.bootstrap_timeout_ms} (60,000).
   *
   * @return the runtime
   * @throws io.lci.error.PeerFailedException if a rank died while the ranks joined
   * @throws io.lci.error.LciException if the library cannot be loaded or the ranks cannot find each
   *     other; its rank is the first missing one
   */
  static LciRuntime create() {
    return create(LciOptions.defaults());
  }

  /**
   * As {@link #create()}, with options.
   *
   * @param options the options
   * @return the runtime
   */
  static LciRuntime create(LciOptions options) {
    return Runtimes.create(options);
  }

  /**
   * As {@link #create(LciOptions)}, on a thread of {@link
   * reactor.core.scheduler.Schedulers#boundedElastic()}.
   *
   * @param options the options
   * @return joins at subscription, whatever the demand; emits the runtime on that thread, or fails
   *     as {@link #create()}; a runtime that arrives after a cancel is closed
   */
  static Mono<LciRuntime> connect(LciOptions options) {
    return Runtimes.connect(options);
  }

  /**
   * Describes the native core of this JVM, and loads it if that was not done yet.
   *
   * @return the core
   * @throws io.lci.error.NativeLoadException if no core can be loaded, or {@code lci.native.calls}
   *     asks for calls that this JVM does not have
   */
  static CoreInfo coreInfo() {
    return Runtimes.coreInfo();
  }

  /** {@return the number of this rank, from 0} */
  int rank();

  /** {@return how many ranks the job has} Fixed. */
  int size();

  /** {@return the effective options: every default and every source applied} */
  LciOptions options();

  /** {@return the loops, by index, with those that were added} */
  List<LciLoop> loops();

  /**
   * Adds a loop with a device of its own to this rank alone. The loop has the next index, and can
   * be the home of inboxes, senders and operations as any other. It ends with the runtime. A
   * dedicated loop runs on its thread at once, on any CPU ({@link LciOptions#affinity()} names none
   * for it). An invoker loop waits for a thread that calls {@link LciLoop#poll()}. {@link
   * LciOptions#progress()} holds for it, too. Ports that are open keep their parts.
   *
   * <p><b>Peers.</b> The device talks to the device of the same number of the other ranks.
   * Operations over it to a rank that has none yet are refused with {@link
   * PostOutcome#RETRY_NOCREDIT}: they wait, stop their upstream when their window is full, and go
   * out when that rank has added its own. They fail with {@link io.lci.error.PeerFailedException}
   * if the rank dies first. Puts, gets and atomic operations on memory at hand need nothing of the
   * other rank. Receives do not care over which device their message comes.
   *
   * <p>Callable from any thread, also a loop's: it waits for nobody.
   *
   * @return the loop
   * @throws io.lci.error.ResourceExhaustedException if the runtime has {@value
   *     LciOptions#MAX_LOOPS} devices, or no memory or thread is left for one more. Nothing has
   *     changed then
   * @throws io.lci.error.LciClosedException if the runtime is closed, or about to close
   */
  LciLoop addLoop();

  /**
   * Completes when every rank has subscribed to as many barriers as this one. Each subscription
   * takes part in one barrier, numbered by the order in which they reach loop 0. These numbers are
   * apart from those of {@link World#barrier()}: the two never meet. Usable at any time.
   *
   * @return posts at the first request; needs no credit; signals on loop 0; cancel detaches the
   *     subscriber, this rank still takes part; ends with {@link io.lci.error.PeerFailedException}
   *     or {@link io.lci.error.PeerLeftException} if a rank is gone
   */
  Mono<Void> barrier();

  /**
   * Completes when everything that this rank had posted before has ended and left it. That is,
   * active messages, sends, puts, gets and atomic operations, by whichever loop, sender, stream or
   * graph: those that wait, also elements that a bulk operator has taken from its source, those
   * that are under way, and messages that a receiver has no place for yet. Operations that a
   * subscriber has left count, too, until they have run out. An operation that fails has ended.
   * Receives, barriers and what peers get from this rank are not waited for. Constant traffic does
   * not hold the call up; some of what is posted while earlier operations wait may count, too.
   *
   * <p>A receiver can: a port that is not open or has no room, an engine without room, a send
   * longer than {@link #maxEager()} that no receive matches. A shorter send has left when the
   * engine of its receiver knows it, even if its bytes are still here. The call has no limit of its
   * own; use {@link Mono#timeout(Duration)}.
   *
   * @return begins at each subscription, whatever the demand; completes on loop 0, after the
   *     signals of operations that were posted by Monos have become due; cancel detaches; ends with
   *     {@link io.lci.error.LciClosedException} when the runtime closes, and with {@link
   *     io.lci.error.ResourceExhaustedException} if the core has no memory for it
   */
  Mono<Void> drained();

  /**
   * Completes when every rank has made this call and everything that any rank had posted before its
   * call has been delivered: stored in the receiver's inbox, completion object, matching engine or
   * memory, whether or not a subscriber has seen it yet. Ranks that have left or died are left out.
   * Checkpoints use it: what the ranks hold then is all there is.
   *
   * <p>Each subscription is one call. Calls are numbered by the order of their subscriptions, apart
   * from those of {@link World} and {@link #barrier()}. Begin another collective call before this
   * one has ended only if no rank waits for this one first: what such a call sends counts, too. As
   * {@link #drained()}, it waits for receivers that have no place for what was sent.
   *
   * @return takes part at subscription, whatever the demand, also if the subscriber leaves; emits,
   *     on loop 0, the ranks that it went on without, by rank: those that this rank found gone
   *     before they had told it that they have everything; empty if all took part. Ends as {@link
   *     #drained()}
   */
  Mono<List<PeerEvent>> drainedEverywhere();

  /**
   * Opens a port on this rank, or returns the inbox that is already open for it.
   *
   * @param port number and name, the same on every rank
   * @return the inbox; if this opens it, on loop 0, with room for {@value
   *     InboxOptions#DEFAULT_MESSAGES} messages and 8 MiB; peers hold no credit before this
   */
  Inbox inbox(Port port);

  /**
   * As {@link #inbox(Port)}, with options. The call waits for the home loop to open the port. It
   * does not wait on threads that must not (a thread of another loop, Reactor's non-blocking
   * threads), nor with invoker loops: there the subscriber gets a failure.
   *
   * @param port number and name
   * @param options capacity and home loop; ignored if the port is already open
   * @return the inbox
   * @throws IllegalArgumentException if the port is open under another name
   */
  Inbox inbox(Port port, InboxOptions options);

  /**
   * Returns a sender to a port of other ranks, or of this one.
   *
   * @param port number and name
   * @return a sender on loop 0 with a window of {@value SenderOptions#DEFAULT_WINDOW} elements
   */
  Sender sender(Port port);

  /**
   * As {@link #sender(Port)}, with options.
   *
   * @param port number and name
   * @param options home loop, window, stop on error
   * @return the sender
   */
  Sender sender(Port port, SenderOptions options);

  /**
   * Describes the operation as a Mono. Each subscription is one operation, posted at its first
   * request. After a retry it waits and is posted again; a retry is never an error.
   *
   * <p>The loop reads a payload at each attempt, and not after the operation was accepted. An
   * {@link io.lci.rma.LciBuffer}, or a list of them, is in use until the operation has ended: above
   * 192 bytes it is not copied but referred to. After a cancel or a deadline, only a {@linkplain
   * Op#completeTo target} tells when that is; without one, leave the buffer to the garbage
   * collector.
   *
   * @param op the operation
   * @return emits the completion on the loop of the operation's device, or where {@link
   *     Op#signalOn} says; with a completion target, at the time that {@link Op#completeTo} names.
   *     Cancel removes an operation that is queued or waiting, and cancels an unmatched receive
   *     natively. Any other posted operation runs out silently, and a message that it brings goes
   *     to {@code doOnDiscard}. Fails with {@link io.lci.error.PeerFailedException}, {@link
   *     io.lci.error.PeerLeftException}, {@link io.lci.error.PortClosedException}, {@link
   *     io.lci.error.PortMismatchException}, {@link io.lci.error.MemoryClosedException}, {@link
   *     io.lci.error.TruncatedException}, {@link io.lci.error.ResourceExhaustedException}, {@link
   *     io.lci.error.DeadlineExceededException}, {@link io.lci.error.OperationCancelledException}
   *     (a receive whose engine was disposed of), {@link io.lci.error.LciClosedException}
   */
  Mono<Completion> post(Op op);

  /**
   * Posts every operation of a stream: {@link #post(Publisher, Function, PostOptions)} whose
   * elements are the operations.
   *
   * @param ops active messages, sends, receives, puts and gets, in any mixture
   * @param options window, home loop, what a failure means, deadline
   * @return one result per operation, in order of completion
   */
  Flux<PostResult<Op>> post(Publisher<? extends Op> ops, PostOptions options);

  /**
   * Posts an operation for each element, at most {@link PostOptions#window()} of them at a time.
   * The result is that of a wide {@code flatMap} of {@link #post(Op)}, at a cost that does not grow
   * with the width. A refused operation waits within the window, behind those that wait for the
   * same destination; others go on. Each operation must have memory of its own to read into.
   *
   * @param items upstream, asked for what the window can hold after the first demand; subscribed on
   *     the subscriber's thread, and requested as in {@link io.lci.am.Sender#sendAll}
   * @param operation called once per element on the home loop, on the operation's device if that
   *     loop serves it, else on the loop's first; an exception, null, or an operation of another
   *     runtime fails the element. Must not block
   * @param options window, home loop, what a failure means, deadline
   * @param <T> type of element
   * @return one result per element, in order of completion, as far as requested, on the home loop;
   *     unreported results occupy the window, so upstream stops too. {@link
   *     PostResult#completion()} has the value that a Mono of the operation would emit; an
   *     operation with a completion target is reported at the time that {@link Op#completeTo}
   *     names. Failure is data ({@link PostResult#error()}, of the types of {@link #post(Op)}),
   *     also when a peer died, unless {@link PostOptions#stopOnError()}. Upstream's error comes
   *     after the results of the elements that it sent. Cancel gives elements that were not
   *     accepted to {@code doOnDiscard}, and cancels unmatched receives natively. Other posted
   *     operations run out silently, and messages that they bring go to {@code doOnDiscard}
   */
  <T> Flux<PostResult<T>> post(
      Publisher<? extends T> items,
      Function<? super T, ? extends Op> operation,
      PostOptions options);

  /**
   * Returns sends and receives that match by rank and tag. They never come to an inbox.
   *
   * @return the same at each call
   */
  Tagged tagged();

  /**
   * Returns regions of memory that ranks share, and buffers of operations.
   *
   * @return the same at each call
   */
  Memory memory();

  /**
   * Returns queues, synchronizers and counters, which operations and ports signal, and graphs.
   *
   * @return the same at each call
   */
  Completions completions();

  /**
   * Returns the group of all ranks, for collective calls.
   *
   * @return the same at each call
   */
  World world();

  /** {@return the largest payload that travels in one packet, in bytes} */
  int maxEager();

  /**
   * Returns the streams between this rank and others. The first call of this or {@link #rpc()}
   * opens port 32,767, over which both travel.
   *
   * @return the same at each call
   * @throws IllegalArgumentException if the program has opened that port itself
   */
  Streams streams();

  /**
   * Returns the access to functions: those that this rank serves, and calls of those of other
   * ranks. See {@link #streams()}.
   *
   * @return the same at each call
   */
  Rpc rpc();

  /**
   * Emits changes of peers' states, from the start of the runtime on: a late subscriber first gets
   * the earlier events.
   *
   * @return signals on loop 0; at most two events per peer, which bounds the buffer; cancel
   *     detaches; completes at close, which does not wait for demand: events that were not
   *     requested by then are lost. A later subscriber gets {@link io.lci.error.LciClosedException}
   */
  Flux<PeerEvent> peerEvents();

  /**
   * Emits the end of one peer: {@link #peerEvents()} of that rank alone.
   *
   * @param rank the peer
   * @return emits on loop 0 when it left or died, at once if it is gone already; completes empty
   *     when this runtime closes first
   */
  Mono<PeerEvent> peerGone(int rank);

  /**
   * {@return counters and gauges of this moment; after close, of the moment of closing} Any thread.
   */
  LciSnapshot snapshot();

  /**
   * Tells when the runtime is closed.
   *
   * @return completes when it is; fails with the failure of a loop, or {@link LciException} if
   *     closing failed. Signals on the thread that finished closing, or on the subscriber's thread
   *     if the runtime was closed before. Needs no demand; cancel detaches
   */
  Mono<Void> onClose();

  /**
   * Closes the runtime. It refuses new operations at once. Until {@code limit}, posted and waiting
   * operations may go out, and subscribers may request the results of bulk operators. The close
   * waits for tasks of {@link LciLoop#scheduler()} that were there before. Then everything still
   * pending gets {@link io.lci.error.LciClosedException}.
   *
   * <p>If everything was sent, peers see this rank leave ({@link PeerEvent.State#LEFT}). If not,
   * they see it fail ({@link PeerEvent.State#FAILED}): a line of the log and counter {@code
   * loop_given_up} of the last {@link #snapshot()} tell how many operations were given up.
   *
   * @param limit time for operations to go out; zero: none
   * @return starts closing at the first subscription of any; completes when every loop has ended.
   *     User code that holds a loop delays that, and so does a thread that does not drive its
   *     invoker loop. Else as {@link #onClose()}: closing goes on after a cancel
   */
  Mono<Void> disposeGracefully(Duration limit);

  /**
   * Starts {@link #disposeGracefully} with {@link LciOptions#closeTimeout()} and returns at once.
   * {@link #onClose()} tells the end. Any thread; repeated calls do nothing.
   */
  @Override
  void dispose();

  /**
   * Leaves at once, and returns before that is done: nothing more goes out, everything pending gets
   * {@link io.lci.error.LciClosedException}, and peers see this rank fail ({@link
   * PeerEvent.State#FAILED}), whatever was sent. It also cuts a close short that has started.
   * {@link #onClose()} tells the end. Any thread.
   */
  void abort();

  /**
   * Does as {@link #dispose()}, and waits for the end. Repeated calls wait, too.
   *
   * @throws IllegalStateException on a loop's thread (the owner of an invoker loop may, outside its
   *     turns)
   * @throws io.lci.error.LciException if user code holds a loop for 5 s longer than that; the
   *     message names the loop. Else the failure of a loop
   */
  @Override
  void close();
}
