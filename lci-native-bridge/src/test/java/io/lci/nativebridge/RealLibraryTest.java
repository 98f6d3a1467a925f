/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.nativebridge.LaneFixture.Event;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The binding over the library of this build: strings, out-parameters, and a message through a
 * lane.
 */
class RealLibraryTest {

  private static NativeLibrary library;
  private static NativeCalls calls;

  @BeforeAll
  static void load() {
    library = RealLibrary.load();
    calls = library.calls();
  }

  @Test
  void comesFromTheJar() {
    assertThat(library.source()).isEqualTo(NativeLibrary.RESOURCE + " in the jar");
    assertThat(library.version()).matches("\\d+\\.\\d+\\.\\d+");
    assertThat(NativeLibrary.load()).isSameAs(library);
  }

  /** So that no run on a newer JVM proves the calls of the older ones again. */
  @Test
  void theCallsAreThoseThatTheRunIsFor() {
    String expected = System.getProperty("lci.test.calls");
    if (expected == null) {
      expected = BindingTest.hasFfm() ? "ffm" : "jna";
    }
    assertThat(library.callsBy()).as(library.callsReason()).isEqualTo(expected);
  }

  @Test
  void codesHaveTheirNames() throws Exception {
    TreeSet<String> names = new TreeSet<>();
    int codes = 0;
    for (Map.Entry<String, Long> constant : Header.read().constants().entrySet()) {
      String name = constant.getKey().substring("LCI_".length());
      if (name.matches("DONE.*|POSTED.*|RETRY.*|ERR_.*")) {
        codes++;
        String answer = NativeMemory.string(calls.codeName(constant.getValue().intValue()));
        names.add(answer);
        assertThat(answer).as(name).isNotEqualTo("unknown");
        if (!name.startsWith("ERR_")) {
          assertThat(answer).isEqualTo(name.toLowerCase(Locale.ROOT));
        }
      }
    }
    assertThat(codes).isGreaterThan(30);
    assertThat(names).hasSize(codes);
    assertThat(NativeMemory.string(calls.codeName(9999))).isEqualTo("unknown");
  }

  @Test
  void anUnknownAttributeIsAnErrorWithText() {
    NativeScratch out = new NativeScratch(1);
    assertThat(calls.attrsCreate(out.address(0))).isEqualTo(Codes.DONE);
    long attrs = out.getLong(0);
    ByteBuffer name = NativeMemory.cString("no_such_attribute");
    ByteBuffer value = NativeMemory.cString("1");
    assertThat(calls.attrsSet(attrs, NativeMemory.address(name), NativeMemory.address(value)))
        .isEqualTo(Codes.ERR_ATTRIBUTE);
    assertThat(library.lastError()).contains("no_such_attribute").doesNotContain("\n");
    calls.attrsFree(attrs);
  }

  @Test
  void attributesAndCountersCanBeListed() {
    List<String> attributes = new ArrayList<>();
    for (int i = 0; calls.attrName(i) != 0; i++) {
      attributes.add(NativeMemory.string(calls.attrName(i)));
      assertThat(NativeMemory.string(calls.attrHelp(i))).as(attributes.get(i)).isNotEmpty();
    }
    assertThat(attributes).contains("devices").doesNotHaveDuplicates();
    List<String> counters = new ArrayList<>();
    for (int i = 0; calls.counterName(i) != 0; i++) {
      counters.add(NativeMemory.string(calls.counterName(i)));
    }
    assertThat(counters)
        .doesNotHaveDuplicates()
        .contains(
            "operations_am_done",
            "retries_nocredit",
            "packets_free",
            "packets_capacity",
            "arrivals");
  }

  @Test
  void infoIsLinesOfKeyAndValue() {
    long needed = calls.info(0, 0);
    assertThat(needed).isGreaterThan(1);
    ByteBuffer text = ByteBuffer.allocateDirect((int) needed + 64);
    calls.info(NativeMemory.address(text), text.capacity());
    assertThat(NativeMemory.string(NativeMemory.address(text)).lines())
        .allSatisfy(line -> assertThat(line).contains("\t"))
        .anySatisfy(line -> assertThat(line).startsWith("version\t" + library.version()));
  }

  @Test
  void aMessageGoesThroughTheLane() {
    byte[] payload = "seventeen bytes..".getBytes(StandardCharsets.US_ASCII);
    try (LaneFixture fixture = new LaneFixture(library)) {
      assertThat(calls.runtimeRank(fixture.runtime)).isZero();
      assertThat(calls.runtimeSize(fixture.runtime)).isEqualTo(1);
      int index = fixture.open(7, "seven", 16, 1);
      List<Event> events = new ArrayList<>();
      int outcome = Codes.RETRY;
      for (int turn = 0; turn < 100 && events.isEmpty(); turn++) {
        if (Codes.isRetry(outcome)) {
          int entry = fixture.submit(7, 42, payload);
          fixture.enter();
          outcome = fixture.outcome(entry);
          assertThat(Codes.isError(outcome))
              .as(NativeMemory.string(calls.codeName(outcome)))
              .isFalse();
        } else {
          fixture.enter();
        }
        for (Event event : fixture.drain()) {
          if (event.kind() == Codes.RECORD_MESSAGE) {
            events.add(event);
          }
        }
      }
      assertThat(events).hasSize(1);
      Event message = events.get(0);
      assertThat(message.code()).isEqualTo(Codes.DONE);
      assertThat(message.port()).isEqualTo(7);
      assertThat(message.index()).isEqualTo(index);
      assertThat(message.tag()).isEqualTo(42);
      assertThat(message.payload()).isEqualTo(payload);
    }
  }

  @Test
  void theSnapshotHasOneValuePerCounter() {
    try (LaneFixture fixture = new LaneFixture(library)) {
      int count = calls.runtimeSnapshot(fixture.runtime, 0, 0);
      assertThat(calls.counterName(count - 1)).isNotZero();
      assertThat(calls.counterName(count)).isZero();
      NativeScratch values = new NativeScratch(count);
      assertThat(calls.runtimeSnapshot(fixture.runtime, values.address(0), count)).isEqualTo(count);
    }
  }

  @Test
  void theDoorbellLiesInItsArea() {
    NativeScratch out = new NativeScratch(2);
    try (LaneFixture fixture = new LaneFixture(library)) {
      assertThat(calls.laneDoorbell(fixture.lane, out.address(0), out.address(1)))
          .isEqualTo(Codes.DONE);
      NativeMemory doorbell = NativeMemory.wrap(out.getLong(0), out.getLong(1));
      long park = calls.laneParkOffset(fixture.lane);
      assertThat(park).isBetween(0L, doorbell.length() - 4);
      assertThat(doorbell.slice(park, 4).getInt(0)).as("not parked").isZero();
      assertThat(calls.laneSummaryOffset(fixture.lane, 0)).isBetween(0L, doorbell.length() - 1);
    }
  }
}
