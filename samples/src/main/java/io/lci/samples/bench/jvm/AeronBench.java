/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.aeron.Aeron;
import io.aeron.ConcurrentPublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.function.IntSupplier;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.BackoffIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.YieldingIdleStrategy;

/**
 * The same between two JVMs over Aeron IPC, or UDP: {@code offer} of eight bytes, fragments polled
 * by hundreds. With IPC the media driver lives in rank 0's JVM, in one thread that backs off; it
 * takes no part in the path of the messages. With UDP each JVM has a driver, which is progressed by
 * the thread that sends and takes, as all of this project's peers are.
 */
public final class AeronBench {
  private static final String IPC = "aeron:ipc";
  private static final int THERE = 1;
  private static final int BACK = 2;
  private static final int FRAGMENTS = 256;
  private static final long LINGER_MILLIS = 1_000;

  private final Dose dose;

  private final ConcurrentPublication publication;
  private final Subscription subscription;
  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[Long.BYTES]);
  private final YieldingIdleStrategy idle = new YieldingIdleStrategy();
  private final FragmentHandler take;
  private final IntSupplier drive;
  private long received;
  private long awaited;
  private long sum;

  private AeronBench(
      Dose dose, ConcurrentPublication publication, Subscription subscription, IntSupplier drive) {
    this.dose = dose;
    this.drive = drive;
    this.publication = publication;
    this.subscription = subscription;
    this.take =
        (fragment, offset, length, header) -> {
          sum += fragment.getLong(offset, ByteOrder.LITTLE_ENDIAN);
          received++;
        };
  }

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric; and {@code udp} for UDP
   */
  public static void main(String[] arguments) {
    Metric metric = Metric.of(arguments[0]);
    boolean first = JvmBench.isFirst();
    String directory = "aeron-" + System.getenv("LCI_JOB_DIR").replace('/', '-');
    Dose dose = JvmBench.dose(metric, 1);
    boolean udp = arguments.length > 1 && arguments[1].equals("udp");
    JvmBench.print(
        metric,
        udp
            ? measureUdp(
                Path.of("/dev/shm", directory + (first ? "-0" : "-1")), first, metric, dose)
            : measure(Path.of("/dev/shm", directory), first, metric, dose));
  }

  /**
   * Takes part in one measurement, to the end of it on both sides.
   *
   * @param directory of the driver, which the first side starts
   */
  static double measure(Path directory, boolean first, Metric metric, Dose dose) {
    if (metric != Metric.AM_STREAM && metric != Metric.AM_ROUND_TRIP) {
      throw JvmBench.notOffered(metric);
    }
    MediaDriver driver = first ? launch(driver(directory)) : null;
    try {
      return measure(client(directory), new String[] {IPC, IPC}, first, metric, dose);
    } finally {
      if (driver != null) {
        driver.close();
      }
    }
  }

  /** The same over UDP, with a driver for each side. */
  private static double measureUdp(Path directory, boolean first, Metric metric, Dose dose) {
    if (metric != Metric.AM_STREAM && metric != Metric.AM_ROUND_TRIP) {
      throw JvmBench.notOffered(metric);
    }
    int port = agreePort(first);
    String[] channels = {udp(first ? port + 1 : port), udp(first ? port : port + 1)};
    try (MediaDriver driver =
        MediaDriver.launch(driver(directory).threadingMode(ThreadingMode.INVOKER))) {
      Aeron.Context client =
          client(directory)
              .driverAgentInvoker(driver.sharedAgentInvoker())
              .useConductorAgentInvoker(true);
      return measure(client, channels, first, metric, dose);
    }
  }

  /**
   * Over a driver that runs.
   *
   * @param channels where to send, where to take
   */
  private static double measure(
      Aeron.Context client, String[] channels, boolean first, Metric metric, Dose dose) {
    try (Aeron aeron = Aeron.connect(client);
        ConcurrentPublication publication =
            aeron.addPublication(channels[0], first ? THERE : BACK);
        Subscription subscription = aeron.addSubscription(channels[1], first ? BACK : THERE)) {
      AeronBench bench = new AeronBench(dose, publication, subscription, drive(aeron));
      double value = metric == Metric.AM_STREAM ? bench.stream(first) : bench.roundTrips(first);
      bench.leave(first);
      return value;
    }
  }

  /** What progresses a client and a driver that have no threads, the driver first. */
  private static IntSupplier drive(Aeron aeron) {
    AgentInvoker driver = aeron.context().driverAgentInvoker();
    if (driver == null) {
      return () -> 0;
    }
    AgentInvoker conductor = aeron.conductorAgentInvoker();
    return () -> driver.invoke() + conductor.invoke();
  }

  private static Aeron.Context client(Path directory) {
    return new Aeron.Context().aeronDirectoryName(directory.toString());
  }

  private static MediaDriver.Context driver(Path directory) {
    return new MediaDriver.Context()
        .aeronDirectoryName(directory.toString())
        .dirDeleteOnStart(true)
        .dirDeleteOnShutdown(true);
  }

  private static MediaDriver launch(MediaDriver.Context context) {
    return MediaDriver.launch(
        context.threadingMode(ThreadingMode.SHARED).sharedIdleStrategy(new BackoffIdleStrategy()));
  }

  private static String udp(int port) {
    return "aeron:udp?endpoint=127.0.0.1:" + port;
  }

  /** Of two ports that are free, one behind the other, the first, which the first side chooses. */
  private static int agreePort(boolean first) {
    Meeting meeting = Meeting.ofJob(false);
    if (!first) {
      return ((InetSocketAddress) meeting.await()).getPort();
    }
    InetAddress host = InetAddress.getLoopbackAddress();
    while (true) {
      try (DatagramSocket one = new DatagramSocket(0, host);
          DatagramSocket next = new DatagramSocket(one.getLocalPort() + 1, host)) {
        meeting.announce(new InetSocketAddress(host, one.getLocalPort()));
        return next.getLocalPort() - 1;
      } catch (BindException e) {
        continue; // the next one is taken
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private double stream(boolean first) {
    if (first) {
      return dose.rate(this::send);
    }
    dose.rounds(this::take);
    return 0;
  }

  private void send() {
    for (int i = 0; i < dose.count(); i++) {
      offer(i);
    }
    await(1);
  }

  private void take() {
    sum = 0;
    await(dose.count());
    dose.checkSum(sum);
    offer(0);
  }

  private double roundTrips(boolean first) {
    long[] nanos = new long[dose.count()];
    for (int i = 0; i < nanos.length; i++) {
      long start = System.nanoTime();
      if (first) {
        offer(i);
      }
      await(1);
      if (!first) {
        offer(i);
      }
      nanos[i] = System.nanoTime() - start;
    }
    return Dose.medianMicros(nanos);
  }

  /** The driver goes last: one more message says that the other has all. */
  private void leave(boolean first) {
    if (first) {
      await(1);
    } else {
      offer(0);
      linger();
    }
  }

  /** Where this side's driver sends the last message, it has to be driven until that has gone. */
  private void linger() {
    long end = System.currentTimeMillis() + LINGER_MILLIS;
    while (System.currentTimeMillis() < end && publication.isConnected()) {
      idle.idle(drive.getAsInt());
    }
  }

  private void offer(long value) {
    buffer.putLong(0, value, ByteOrder.LITTLE_ENDIAN);
    while (publication.offer(buffer, 0, Long.BYTES) < 0) {
      idle.idle(drive.getAsInt());
    }
  }

  /** Waits for more messages; one poll may bring those of the next step as well. */
  private void await(int more) {
    awaited += more;
    while (received < awaited) {
      idle.idle(drive.getAsInt() + subscription.poll(take, FRAGMENTS));
    }
  }
}
