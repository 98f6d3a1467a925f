/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.netty.channel.unix.DomainSocketAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;

/**
 * Where two processes meet that know nothing of LCI: the second one listens, and says where in a
 * file of the job's folder, which the first one reads.
 *
 * @param folder known to both; for a unix domain socket its path must be short
 * @param unix whether they meet at a unix domain socket; else over the loopback device
 */
record Meeting(Path folder, boolean unix) {
  private static final int TRIES = 3_000;
  private static final int PAUSE_MILLIS = 10;

  /** The meeting of the processes that the launcher started. */
  static Meeting ofJob(boolean unix) {
    return new Meeting(Path.of(System.getenv("LCI_JOB_DIR")), unix);
  }

  /** Where to listen. */
  SocketAddress place() {
    return unix
        ? new DomainSocketAddress(folder.resolve("peer.sock").toString())
        : new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  /** Says that somebody listens at {@link #place()}. */
  void announce(SocketAddress bound) {
    int port = bound instanceof InetSocketAddress inet ? inet.getPort() : 0;
    try {
      Path part = Files.writeString(folder.resolve("peer.part"), Integer.toString(port));
      Files.move(part, note(), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits for it; returns where to connect to. */
  SocketAddress await() {
    try {
      for (int i = 0; i < TRIES && !Files.exists(note()); i++) {
        TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
      }
      int port = Integer.parseInt(Files.readString(note()));
      return unix ? place() : new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    } catch (IOException e) {
      throw new UncheckedIOException("the other process does not listen", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private Path note() {
    return folder.resolve("peer.port");
  }
}
