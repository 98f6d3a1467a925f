/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.docs.MeterDocumentation;
import org.jspecify.annotations.Nullable;

/** The meters of a runtime. All meters of one name have the same tag keys; no tag names a peer. */
public enum LciMeters implements MeterDocumentation {
  /**
   * Operations by kind that ended an attempt as done (finished at once) or posted (a completion
   * followed).
   */
  OPERATIONS("lci.operations", Meter.Type.COUNTER, "operations", OperationKeys.values()),
  /** Attempts that answered retry, by reason: the reason says who the slow party is. */
  RETRIES("lci.retries", Meter.Type.COUNTER, "retries", RetryKeys.values()),
  /**
   * Keys (a destination and a port) that made no progress for the time that the options name, by
   * the last reason.
   */
  STALLS("lci.stalls", Meter.Type.COUNTER, "stalls", StallKeys.values()),
  /** Messages stored at this rank and not yet delivered. */
  INBOX_DEPTH("lci.inbox.depth", Meter.Type.GAUGE, "messages", InboxKeys.values()),
  /** Most messages that an inbox may store. */
  INBOX_CAPACITY("lci.inbox.capacity", Meter.Type.GAUGE, "messages", InboxKeys.values()),
  /** Operations and control messages that wait in the backlog, because the peer takes no more. */
  BACKLOG_DEPTH("lci.backlog.depth", Meter.Type.GAUGE, "operations", BacklogKeys.values()),
  /** Operations that went into the backlog. */
  BACKLOG_PUSHED("lci.backlog.pushed", Meter.Type.COUNTER, "operations", BacklogKeys.values()),
  /** Every counter of the snapshot that only grows, by its name there. */
  CORE("lci.core", Meter.Type.COUNTER, null, CoreKeys.values()),
  /** Packets in the pool that are free. */
  PACKETS_FREE("lci.packets.free", Meter.Type.GAUGE, null),
  /** Packets that the pool holds now; it grows by chunks up to its limit. */
  PACKETS_CAPACITY("lci.packets.capacity", Meter.Type.GAUGE, null),
  /** Always 1: the tags are the information. */
  RUNTIME_INFO("lci.runtime.info", Meter.Type.GAUGE, null, RuntimeKeys.values());

  private final String name;
  private final Meter.Type type;
  private final @Nullable String baseUnit;

  @SuppressWarnings("ImmutableEnumChecker") // Never handed out, only copies of it.
  private final KeyName[] keys;

  LciMeters(String name, Meter.Type type, @Nullable String baseUnit, KeyName... keys) {
    this.name = name;
    this.type = type;
    this.baseUnit = baseUnit;
    this.keys = keys;
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public Meter.Type getType() {
    return type;
  }

  @Override
  public @Nullable String getBaseUnit() {
    return baseUnit;
  }

  @Override
  public KeyName[] getKeyNames() {
    return keys.clone();
  }

  /** Tags of {@link #OPERATIONS}. */
  public enum OperationKeys implements KeyName {
    /** What was posted: am, send, recv, barrier. */
    OP("op"),
    /** How the attempt ended: done or posted. Retries have a meter of their own, with reasons. */
    OUTCOME("outcome"),
    /** Index of the device, which is its loop's. */
    DEVICE("device");

    private final String key;

    OperationKeys(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  /** Tags of {@link #RETRIES}. */
  public enum RetryKeys implements KeyName {
    /** Which retry: lock, nopacket, nomem, backlog, nocredit, pending, order. */
    REASON("reason"),
    /** Index of the device, which is its loop's. */
    DEVICE("device");

    private final String key;

    RetryKeys(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  /** Tags of {@link #STALLS}. */
  public enum StallKeys implements KeyName {
    /** As of a retry. */
    REASON;

    @Override
    public String asString() {
      return "reason";
    }
  }

  /** Tags of {@link #BACKLOG_DEPTH} and {@link #BACKLOG_PUSHED}. */
  public enum BacklogKeys implements KeyName {
    /** Index of the device, which is its loop's. */
    DEVICE;

    @Override
    public String asString() {
      return "device";
    }
  }

  /** Tags of {@link #CORE}. */
  public enum CoreKeys implements KeyName {
    /** Name of the counter. */
    COUNTER("counter"),
    /** Index of the device that counted it, or none: memory, queues, peers and parking. */
    DEVICE("device");

    private final String key;

    CoreKeys(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  /** Tags of {@link #INBOX_DEPTH} and {@link #INBOX_CAPACITY}. */
  public enum InboxKeys implements KeyName {
    /** The port as name(number). */
    PORT;

    @Override
    public String asString() {
      return "port";
    }
  }

  /** Tags of {@link #RUNTIME_INFO}. */
  public enum RuntimeKeys implements KeyName {
    /** This rank. */
    RANK("rank"),
    /** Ranks in the job. */
    SIZE("size"),
    /** Version of lci-reactive. */
    VERSION("version"),
    /** What carries messages between the ranks. */
    TRANSPORT("transport");

    private final String key;

    RuntimeKeys(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }
}
