/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Awaitility looks at once and often. It waits a tenth of a second by default, also for what holds
 * already, and there are thousands of such waits. Registers itself as {@link DroppedSignals} does.
 */
public final class PromptAwait implements BeforeAllCallback {
  @Override
  public void beforeAll(ExtensionContext context) {
    Awaitility.setDefaultPollDelay(Duration.ZERO);
    Awaitility.setDefaultPollInterval(Duration.ofMillis(2));
  }
}
