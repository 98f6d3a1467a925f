/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;
import org.openucx.jucx.UcxUtils;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpMemMapParams;
import org.openucx.jucx.ucp.UcpMemory;
import org.openucx.jucx.ucp.UcpParams;
import org.openucx.jucx.ucp.UcpRemoteKey;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;
import org.openucx.jucx.ucs.UcsConstants;

/**
 * The same between two JVMs over JUCX, UCX's own Java interface: active messages whose header is
 * the number, and gets out of memory that UCX allocated, by shared memory. At most {@value #WINDOW}
 * posts are under way. The thread that posts progresses the worker.
 */
public final class JucxBench implements AutoCloseable {
  private static final int MESSAGE = 1;
  private static final int WINDOW = 256;
  private static final int LONG_BYTES = 64 << 10;
  private static final long MARK = 0x1234_5678_9ABC_DEF0L;

  /** For a peer that starts on a busy machine. */
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private final Path folder;
  private final boolean first;
  private final Dose dose;
  private final UcpContext context;
  private final UcpWorker worker;
  private final UcpEndpoint peer;

  /** Of the posts under way, each with eight bytes of its own. */
  private final @Nullable UcpRequest[] posts = new UcpRequest[WINDOW];

  private final ByteBuffer numbers = buffer(WINDOW * Long.BYTES);
  private int posted;
  private long received;
  private long awaited;
  private long sum;

  private JucxBench(Path folder, boolean first, Dose dose) {
    this.folder = folder;
    this.first = first;
    this.dose = dose;
    this.context =
        new UcpContext(
            new UcpParams().requestAmFeature().requestRmaFeature().setConfig("TLS", "posix,self"));
    this.worker = context.newWorker(new UcpWorkerParams());
    worker.setAmRecvHandler(
        MESSAGE,
        (header, size, data, sender) -> {
          sum += view(header, size).getLong(0);
          received++;
          return UcsConstants.STATUS.UCS_OK;
        });
    this.peer =
        worker.newEndpoint(
            new UcpEndpointParams().setUcpAddress(exchange("worker", worker.getAddress())));
  }

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric
   */
  public static void main(String[] arguments) {
    Metric metric = Metric.of(arguments[0]);
    Path folder = Path.of(System.getenv("LCI_JOB_DIR"));
    JvmBench.print(metric, measure(folder, JvmBench.isFirst(), metric, JvmBench.dose(metric, 1)));
  }

  /**
   * Takes part in one measurement, to the end of it on both sides.
   *
   * @param folder known to both, in which they meet
   */
  static double measure(Path folder, boolean first, Metric metric, Dose dose) {
    switch (metric) {
      case AM_STREAM, AM_ROUND_TRIP, RMA_GET_8, RMA_GET_64K -> {}
      default -> throw JvmBench.notOffered(metric);
    }
    try (JucxBench bench = new JucxBench(folder, first, dose)) {
      return switch (metric) {
        case AM_STREAM -> bench.stream();
        case AM_ROUND_TRIP -> bench.roundTrips();
        case RMA_GET_8 -> bench.gets(Long.BYTES);
        default -> bench.gets(LONG_BYTES) * LONG_BYTES * 1e-3;
      };
    }
  }

  @Override
  public void close() {
    exchange("end", ByteBuffer.allocate(1)); // until then one needs the other's progress
    peer.close();
    worker.close();
    context.close();
  }

  private double stream() {
    if (first) {
      return dose.rate(this::send);
    }
    dose.rounds(this::take);
    return 0;
  }

  private void send() {
    for (int i = 0; i < dose.count(); i++) {
      send(i);
    }
    await(1);
  }

  private void take() {
    sum = 0;
    await(dose.count());
    dose.checkSum(sum);
    send(0);
  }

  private double roundTrips() {
    long[] nanos = new long[dose.count()];
    for (int i = 0; i < nanos.length; i++) {
      long start = System.nanoTime();
      if (first) {
        send(i);
      }
      await(1);
      if (!first) {
        send(i);
      }
      nanos[i] = System.nanoTime() - start;
    }
    return Dose.medianMicros(nanos);
  }

  /** Millions of gets in a second, always of the same place into the same buffer. */
  private double gets(int bytes) {
    ByteBuffer into = buffer(bytes);
    double rate = 0;
    try (UcpMemory memory = context.memoryMap(new UcpMemMapParams().allocate().setLength(bytes))) {
      view(memory.getAddress(), bytes).putLong(bytes - Long.BYTES, first ? 0 : MARK);
      ByteBuffer mine = buffer(Long.BYTES).putLong(0, memory.getAddress());
      long theirs = exchange("memory", mine).getLong(0);
      try (UcpRemoteKey key = peer.unpackRemoteKey(exchange("key", memory.getRemoteKeyBuffer()))) {
        if (first) {
          long address = UcxUtils.getAddress(into);
          rate = dose.rate(() -> get(theirs, key, address, bytes));
          if (into.getLong(bytes - Long.BYTES) != MARK) {
            throw new IllegalStateException("the last bytes got are not those of rank 1");
          }
        }
      }
      exchange("got", ByteBuffer.allocate(1));
    }
    return rate;
  }

  private void get(long remote, UcpRemoteKey key, long local, int bytes) {
    for (int i = 0; i < dose.count(); i++) {
      int place = free();
      posts[place] = peer.getNonBlocking(remote, key, local, bytes, null);
    }
    for (int i = 0; i < WINDOW; i++) {
      free();
    }
  }

  private void send(long number) {
    int place = free() * Long.BYTES;
    numbers.putLong(place, number);
    posts[place / Long.BYTES] =
        peer.sendAmNonBlocking(
            MESSAGE, UcxUtils.getAddress(numbers) + place, Long.BYTES, 0, 0, 0, null);
  }

  /** The next place whose post has ended. */
  private int free() {
    int place = posted++ % WINDOW;
    UcpRequest before = posts[place];
    while (before != null && !before.isCompleted()) {
      progress();
    }
    if (before != null && before.getStatus() != UcsConstants.STATUS.UCS_OK) {
      throw new IllegalStateException("a post ended with status " + before.getStatus());
    }
    return place;
  }

  private void await(int more) {
    awaited += more;
    while (received < awaited) {
      progress();
    }
  }

  private void progress() {
    try {
      worker.progress();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Gives bytes to the other process, and returns those that it gives by the same name. */
  private ByteBuffer exchange(String name, ByteBuffer mine) {
    byte[] bytes = new byte[mine.remaining()];
    mine.duplicate().get(bytes);
    Path theirs = note(name, !first);
    try {
      Path part = Files.write(folder.resolve(note(name, first).getFileName() + ".part"), bytes);
      Files.move(part, note(name, first), StandardCopyOption.ATOMIC_MOVE);
      for (long end = System.nanoTime() + PATIENCE_NANOS; !Files.exists(theirs); ) {
        if (System.nanoTime() - end > 0) {
          throw new IllegalStateException("the other process has not written " + theirs);
        }
        progress();
        Thread.yield();
      }
      byte[] read = Files.readAllBytes(theirs);
      return buffer(read.length).put(read).flip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path note(String name, boolean ofFirst) {
    return folder.resolve("jucx-" + name + (ofFirst ? "-0" : "-1"));
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private static ByteBuffer view(long address, long bytes) {
    return UcxUtils.getByteBufferView(address, bytes).order(ByteOrder.nativeOrder());
  }
}
