/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.core.instrument.Meter;

/** The names that Micrometer's Prometheus registry gives to meters, for the reference. */
final class PrometheusNames {
  private PrometheusNames() {}

  static String of(LciMeter meter) {
    String name = meter.getName().replace('.', '_');
    String unit = meter.getBaseUnit();
    if (unit != null && !name.endsWith('_' + unit)) {
      name = name + '_' + unit;
    }
    return meter.getType() == Meter.Type.COUNTER ? name + "_total" : name;
  }
}
