/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.docs.MeterDocumentation;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A meter of a runtime: constants of {@link OperationMeters}, {@link InboxMeters}, {@link
 * FlowMeters}, {@link StreamMeters}, {@link CollectiveMeters}, {@link NetworkMeters}, {@link
 * LoopMeters}, {@link ResourceMeters} and {@link RuntimeMeters}. All series of a name have the same
 * tag keys, whatever the options. {@code docs/guide/metrics.md} is made from these constants.
 *
 * @since 0.1
 */
public interface LciMeter extends MeterDocumentation {

  /** {@return the definition of the meter} */
  MeterDefinition definition();

  /** {@return every meter, subsystem by subsystem} */
  static List<LciMeter> all() {
    return Stream.<LciMeter[]>of(
            OperationMeters.values(),
            InboxMeters.values(),
            FlowMeters.values(),
            StreamMeters.values(),
            CollectiveMeters.values(),
            NetworkMeters.values(),
            LoopMeters.values(),
            ResourceMeters.values(),
            RuntimeMeters.values())
        .flatMap(Stream::of)
        .toList();
  }

  @Override
  default String getName() {
    return definition().name();
  }

  @Override
  default Meter.Type getType() {
    return definition().type();
  }

  @Override
  default @Nullable String getBaseUnit() {
    return definition().baseUnit();
  }

  @Override
  default KeyName[] getKeyNames() {
    return definition().tags().toArray(KeyName[]::new);
  }
}
