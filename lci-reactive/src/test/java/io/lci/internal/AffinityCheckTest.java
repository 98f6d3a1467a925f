/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.internal.loop.Affinity;
import io.lci.nativebridge.NativeCalls;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

/** The thread that tries whether loops could be bound always tells. */
class AffinityCheckTest {
  @Test
  void aCallThatThrowsIsNoEndlessWait() {
    Error reason = new UnsatisfiedLinkError("not in this core");
    NativeCalls calls =
        (NativeCalls)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {NativeCalls.class},
                (proxy, method, arguments) -> {
                  throw reason;
                });
    LciOptions options = LciOptions.builder().affinity(0).build();
    assertThatThrownBy(() -> Affinity.check(calls, options)).hasCause(reason);
  }
}
