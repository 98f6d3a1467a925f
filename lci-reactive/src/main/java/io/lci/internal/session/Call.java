/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import io.lci.am.Payload;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * What a subscription opens: immutable, used by any number of them.
 *
 * @param rank the peer
 * @param request the only item that is sent; or null
 * @param requests the items that are sent; or null
 * @param <T> what comes back
 */
record Call<T>(
    int rank,
    Kind kind,
    String name,
    byte[] nameBytes,
    int awaitMillis,
    Function<? super Message, ? extends T> decoder,
    @Nullable Payload request,
    @Nullable Publisher<? extends Payload> requests,
    @Nullable Duration deadline) {}
