/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import java.io.ByteArrayOutputStream;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/** The body of a request, up to a bound. */
final class Body {
  /** More came than there is room for. */
  static final class TooLargeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TooLargeException(int limit) {
      super("the value of this key may have " + limit + " bytes at most");
    }
  }

  private Body() {}

  /** Reads it; fails with {@link TooLargeException} as soon as it is longer than the limit. */
  static Mono<byte[]> of(HttpServerRequest request, int limit) {
    return request
        .receive()
        .asByteArray()
        .collect(
            ByteArrayOutputStream::new,
            (all, part) -> {
              if (part.length > limit - all.size()) {
                throw new TooLargeException(limit);
              }
              all.write(part, 0, part.length);
            })
        .map(ByteArrayOutputStream::toByteArray);
  }
}
