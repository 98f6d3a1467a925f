/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.Codec;
import io.lci.collective.StreamOptions;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * What a program asked for.
 *
 * @param shape members and kind
 * @param source the items of this member
 * @param owner the member that gets an item
 * @param codec for items that travel
 * @param options of this member
 * @param result what is emitted for an item
 * @param outlet of a stream in rounds, for each subscription anew; else null
 */
record StreamPlan<T, R>(
    Shape shape,
    Publisher<? extends T> source,
    ToIntFunction<? super T> owner,
    Codec<T> codec,
    StreamOptions options,
    Result<? super T, ? extends R> result,
    @Nullable Supplier<Outlet<T, R>> outlet) {
  /** What is emitted for an item. */
  interface Result<T, R> {
    R of(int member, T item);
  }
}
