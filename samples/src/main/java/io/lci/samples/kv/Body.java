/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.ByteArrayOutputStream;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * The body of a request. It is read to its end before any answer goes out, also one that nobody
 * wants: an answer that overtakes its request leaves bytes on the connection, at which the next
 * request may wait for ever.
 *
 * @param bytes its beginning, all of it when it is as long as was asked for or shorter
 * @param length bytes that came
 */
record Body(byte[] bytes, long length) {
  /** A longer one is not read to its end: its connection ends with the answer. */
  static final int MOST_READ = 1 << 20;

  private static final Body NONE = new Body(new byte[0], 0);

  /** More came than there is room for. */
  static final class TooLargeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private TooLargeException(String message) {
      super(message);
    }
  }

  /** More came than is read: the answer must end the connection. */
  static final class EndlessException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private EndlessException() {
      super("a body may have " + MOST_READ + " bytes at most");
    }
  }

  /**
   * Reads it to its end.
   *
   * @param kept most bytes to keep of it
   * @return the body; fails with {@link EndlessException} when it is longer than {@link #MOST_READ}
   */
  static Mono<Body> of(HttpServerRequest request, int kept) {
    return !isAnnounced(request.requestHeaders()) ? Mono.just(NONE) : read(request, kept);
  }

  private static boolean isAnnounced(HttpHeaders headers) {
    return headers.contains(HttpHeaderNames.CONTENT_LENGTH)
        || headers.contains(HttpHeaderNames.TRANSFER_ENCODING);
  }

  private static Mono<Body> read(HttpServerRequest request, int kept) {
    return request
        .receive()
        .asByteArray()
        .collect(() -> new Reading(kept), Reading::take)
        .map(Reading::body);
  }

  /**
   * All of it.
   *
   * @throws TooLargeException if there are more than {@code most} bytes
   */
  byte[] whole(int most) {
    if (length > most) {
      throw new TooLargeException("the value of this key may have " + most + " bytes at most");
    }
    return bytes;
  }

  /** What has come so far. */
  private static final class Reading {
    private final int kept;
    private final ByteArrayOutputStream beginning = new ByteArrayOutputStream();
    private long length;

    Reading(int kept) {
      this.kept = kept;
    }

    void take(byte[] part) {
      length += part.length;
      if (length > MOST_READ) {
        throw new EndlessException();
      }
      beginning.write(part, 0, Math.min(part.length, kept - beginning.size()));
    }

    Body body() {
      return new Body(beginning.toByteArray(), length);
    }
  }
}
