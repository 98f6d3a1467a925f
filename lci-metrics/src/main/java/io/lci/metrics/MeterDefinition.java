/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.core.instrument.Meter;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Name, type, unit, tag keys and meaning of a meter, and how it is read. Immutable.
 *
 * @since 0.1
 */
public final class MeterDefinition {

  /** The fate of a gauge that is absent from a snapshot. */
  enum WhenAbsent {
    /** It is 0: nothing waits there any more. */
    ZERO,
    /** The gauge goes: its subject is gone. */
    REMOVED
  }

  private final String name;
  private final Meter.Type type;
  private final @Nullable String baseUnit;
  private final String description;
  private final WhenAbsent whenAbsent;
  private final @Nullable MeterReader reader;
  private final List<LciTags> tags;

  private MeterDefinition(
      String name,
      Meter.Type type,
      @Nullable String baseUnit,
      String description,
      WhenAbsent whenAbsent,
      @Nullable MeterReader reader,
      LciTags... tags) {
    this.name = name;
    this.type = type;
    this.baseUnit = baseUnit;
    this.description = description;
    this.whenAbsent = whenAbsent;
    this.reader = reader;
    this.tags = List.of(tags);
  }

  static MeterDefinition counter(
      String name, @Nullable String unit, String description, MeterReader reader, LciTags... tags) {
    return new MeterDefinition(
        name, Meter.Type.COUNTER, unit, description, WhenAbsent.ZERO, reader, tags);
  }

  static MeterDefinition gauge(
      String name, @Nullable String unit, String description, MeterReader reader, LciTags... tags) {
    return new MeterDefinition(
        name, Meter.Type.GAUGE, unit, description, WhenAbsent.ZERO, reader, tags);
  }

  /** A gauge of something that comes and goes. */
  static MeterDefinition passing(
      String name, @Nullable String unit, String description, MeterReader reader, LciTags... tags) {
    return new MeterDefinition(
        name, Meter.Type.GAUGE, unit, description, WhenAbsent.REMOVED, reader, tags);
  }

  /** A timer, which no snapshot has: the instrumentation is told. */
  static MeterDefinition timer(String name, String description, LciTags... tags) {
    return new MeterDefinition(
        name, Meter.Type.TIMER, "seconds", description, WhenAbsent.ZERO, null, tags);
  }

  /** A counter, which no snapshot has either. */
  static MeterDefinition told(String name, String unit, String description, LciTags... tags) {
    return new MeterDefinition(
        name, Meter.Type.COUNTER, unit, description, WhenAbsent.ZERO, null, tags);
  }

  /** {@return the name, lower case with dots} */
  public String name() {
    return name;
  }

  /** {@return the type} */
  public Meter.Type type() {
    return type;
  }

  /** {@return the unit, or null where the value is a bare number} */
  public @Nullable String baseUnit() {
    return baseUnit;
  }

  /** {@return its meaning, in one line} */
  public String description() {
    return description;
  }

  /** {@return the tag keys that all its series have} */
  public List<LciTags> tags() {
    return tags;
  }

  boolean isRead() {
    return reader != null;
  }

  boolean isRemovedWhenAbsent() {
    return whenAbsent == WhenAbsent.REMOVED;
  }

  void read(SnapshotView view, MeterReader.Series out) {
    Objects.requireNonNull(reader, name).read(view, out);
  }
}
