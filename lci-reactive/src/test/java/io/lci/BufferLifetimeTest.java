/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.LciClosedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.util.context.Context;

/** A posted operation's memory lives until its native signal, whoever still waits for it. [V15] */
@ExtendWith(LciLeakCheck.class)
class BufferLifetimeTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final int BYTES = 300_000;

  private static LciBuffer filled(LciRuntime lci, int value) {
    LciBuffer buffer = lci.memory().buffer(BYTES);
    ByteBuffer view = buffer.view();
    byte[] bytes = new byte[BYTES];
    Arrays.fill(bytes, (byte) value);
    view.put(bytes);
    return buffer;
  }

  /** Collects, and takes direct memory with other content in the place of what was freed. */
  private static void collect() {
    List<ByteBuffer> others = new ArrayList<>();
    for (int round = 0; round < 5; round++) {
      System.gc();
      for (int i = 0; i < 20; i++) {
        ByteBuffer other = ByteBuffer.allocateDirect(BYTES);
        while (other.hasRemaining()) {
          other.put((byte) 0x5A);
        }
        others.add(other);
      }
    }
    assertThat(others).hasSize(100);
  }

  // Proves: V15 U3
  // On: inproc
  @Test
  void whatWasPostedIsSentWholeAfterCancelAndCollection() {
    int count = 8;
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      for (int i = 0; i < count; i++) {
        post(lci, i); // nothing but the operation refers to its buffers afterwards
      }
      collect();
      for (int i = 0; i < count; i++) {
        Message message = job.rank(1).tagged().receive(0, i, 2 * BYTES).block(LIMIT);
        byte[] bytes = message.toByteArray();
        assertThat(bytes).hasSize(i % 2 == 0 ? BYTES : 2 * BYTES);
        for (byte b : bytes) {
          assertThat(b).isEqualTo((byte) (i + 1));
        }
      }
    }
  }

  private static void post(LciRuntime lci, int tag) {
    Payload payload =
        tag % 2 == 0
            ? filled(lci, tag + 1)
            : LciBuffer.list(filled(lci, tag + 1), filled(lci, tag + 1));
    long before = posted(lci);
    Disposable waiting = lci.post(Op.send(1, tag, payload)).subscribe();
    await().atMost(LIMIT).until(() -> posted(lci) > before);
    waiting.dispose();
  }

  private static long posted(LciRuntime lci) {
    return lci.snapshot().counter("operations_send_posted");
  }

  // Proves: V15
  // On: inproc
  @Test
  void whatIsRegisteredStaysUntilItIsDisposedOf() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<WeakReference<ByteBuffer>> registered = new ArrayList<>();
      List<byte[]> handles = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        handles.add(registerAndForget(job.rank(0), i, registered));
      }
      collect();
      for (int i = 0; i < 8; i++) {
        byte[] read = job.rank(1).memory().remote(0, handles.get(i)).get(0, BYTES).block(LIMIT);
        byte[] written = new byte[BYTES];
        Arrays.fill(written, (byte) (i + 1));
        assertThat(Arrays.mismatch(read, written)).isEqualTo(-1);
        assertThat(registered.get(i).get()).isNotNull();
      }

      lastView(job.rank(0), registered);
      ByteBuffer view = lastView(job.rank(0), registered);
      view.putLong(0, 4711);
      await().atMost(LIMIT).until(() -> isGone(registered.get(8)));
      assertThat(isGone(registered.get(9))).isFalse(); // the view is of it
      assertThat(view.getLong(0)).isEqualTo(4711);
    }
  }

  /** Only the runtime knows of the memory afterwards. */
  private static byte[] registerAndForget(
      LciRuntime lci, int value, List<WeakReference<ByteBuffer>> registered) {
    ByteBuffer memory = remember(ByteBuffer.allocateDirect(BYTES), registered);
    for (int i = 0; i < BYTES; i++) {
      memory.put(i, (byte) (value + 1));
    }
    return lci.memory().register(memory).handle();
  }

  /** A view of a region that was disposed of. */
  private static ByteBuffer lastView(LciRuntime lci, List<WeakReference<ByteBuffer>> registered) {
    MemoryRegion region = lci.memory().register(remember(ByteBuffer.allocateDirect(8), registered));
    ByteBuffer view = region.view(0, 8);
    region.dispose();
    return view;
  }

  private static ByteBuffer remember(
      ByteBuffer memory, List<WeakReference<ByteBuffer>> registered) {
    registered.add(new WeakReference<>(memory));
    return memory;
  }

  private static boolean isGone(WeakReference<?> reference) {
    System.gc();
    return reference.get() == null;
  }

  /** The message that comes for a receive whose caller is gone does no harm. */
  // Proves: V15
  // On: inproc
  @Test
  void aReceiveThatNobodyWaitsForHarmsNothing() {
    // Both receives are cancelled while the message may come, and then either may be first.
    Consumer<Object> unread = message -> {};
    Context mayDrop = Context.of("reactor.onNextDropped.local", unread);
    try (LciTestJob job = LciTestJob.start(2)) {
      for (int round = 0; round < 20; round++) {
        Disposable waiting =
            job.rank(1)
                .post(Op.receive(0, round, job.rank(1).memory().buffer(BYTES)))
                .contextWrite(mayDrop)
                .subscribe();
        Disposable sending =
            job.rank(0).post(Op.send(1, round, filled(job.rank(0), round))).subscribe();
        waiting.dispose();
        if (round % 5 == 0) {
          System.gc();
        }
        // Whichever was first: what was not matched is matched now.
        Disposable late =
            job.rank(1).tagged().receive(0, round, BYTES).contextWrite(mayDrop).subscribe();
        await().atMost(LIMIT).until(sending::isDisposed);
        late.dispose();
      }
    }
  }

  // Proves: V15
  // On: inproc
  @Test
  void sharedMemoryIsFreedWhenNeitherViewsNorOperationsNeedIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      ByteBuffer view = lci.memory().sharedBuffer(BYTES).view();
      view.put(0, (byte) 42);
      postShared(lci, 7);
      for (int i = 0; i < 8; i++) {
        lci.memory().sharedBuffer(BYTES);
      }
      awaitAllocated(lci, 2 * BYTES);
      assertThat(view.get(0)).isEqualTo((byte) 42);
      assertThat(job.rank(1).tagged().receive(0, 7, BYTES).block(LIMIT).toByteArray())
          .containsOnly((byte) 7);
      postShort(job); // until then the loop remembers the last operation
      awaitAllocated(lci, BYTES);
      assertThat(view.get(0)).isEqualTo((byte) 42);
      view = null;
      awaitAllocated(lci, 0);
    }
  }

  private static void postShared(LciRuntime lci, int value) {
    LciBuffer buffer = lci.memory().sharedBuffer(BYTES);
    byte[] bytes = new byte[BYTES];
    Arrays.fill(bytes, (byte) value);
    buffer.view().put(bytes);
    long before = posted(lci);
    lci.post(Op.send(1, value, buffer)).subscribe();
    await().atMost(LIMIT).until(() -> posted(lci) > before);
  }

  private static void postShort(LciTestJob job) {
    job.rank(0).post(Op.send(1, 1, Payload.ofLong(1))).block(LIMIT);
    job.rank(1).tagged().receive(0, 1, Long.BYTES).block(LIMIT);
  }

  private static void awaitAllocated(LciRuntime lci, long bytes) {
    await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(lci.snapshot().counter("memory_allocated")).isEqualTo(bytes);
            });
  }

  // Proves: V15
  // On: inproc
  @Test
  void sharedMemoryThatIsGarbageLeavesRoom() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      int large = largest(lci);
      for (int i = 0; i < 20; i++) {
        lci.memory().sharedBuffer(large).view().put(large - 1, (byte) i);
      }
      LciBuffer held = lci.memory().sharedBuffer(large);
      assertThatThrownBy(() -> lci.memory().sharedBuffer(large))
          .isInstanceOf(ResourceExhaustedException.class)
          .hasMessageContaining("arena_bytes");
      assertThat(held.size()).isEqualTo(large);
    }
  }

  /** Bytes of which there is no room for twice as many. */
  private static int largest(LciRuntime lci) {
    for (int bytes = 1 << 30; ; bytes -= 1 << 20) {
      try {
        lci.memory().allocate(bytes).dispose();
        return bytes / 4 * 3;
      } catch (ResourceExhaustedException e) {
        assertThat(bytes).isPositive();
      }
    }
  }

  // Proves: V15
  // On: inproc
  @Test
  void aSharedBufferIsOneOfItsRuntimeWhileThatIsOpen() {
    LciBuffer last;
    LciRuntime closed;
    try (LciTestJob job = LciTestJob.start(2)) {
      closed = job.rank(0);
      last = closed.memory().sharedBuffer(0);
      assertThat(last.size()).isZero();
      assertThat(last.view().remaining()).isZero();
      assertThatThrownBy(() -> closed.memory().sharedBuffer(-1))
          .isInstanceOf(IllegalArgumentException.class);
      LciBuffer others = job.rank(1).memory().sharedBuffer(BYTES);
      assertThatThrownBy(() -> closed.post(Op.send(1, 1, others)).block(LIMIT))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another runtime");
    }
    assertThatThrownBy(() -> closed.memory().sharedBuffer(8))
        .isInstanceOf(LciClosedException.class);
  }
}
