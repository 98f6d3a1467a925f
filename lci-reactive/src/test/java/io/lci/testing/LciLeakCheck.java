/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import io.lci.LciSnapshot;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * After every test: every {@link LciTestJob} was closed, its ledgers are whole, and Reactor dropped
 * no error and no element. Use by {@code @ExtendWith(LciLeakCheck.class)}; the hooks are global, so
 * such tests do not run in parallel.
 */
public final class LciLeakCheck implements BeforeEachCallback, AfterEachCallback {
  private static final String KEY = "lci-leak-check";

  @Override
  public void beforeEach(ExtensionContext context) {
    LciTestJob.takeOpened();
    DroppedSignals.watch();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    List<String> faults = new ArrayList<>();
    for (LciTestJob job : LciTestJob.takeOpened()) {
      if (!job.isClosed()) {
        faults.add("a job of " + job.size() + " ranks was not closed");
        job.close();
      }
      List<LciSnapshot> snapshots = job.snapshots();
      for (int rank = 0; rank < snapshots.size(); rank++) {
        faults.addAll(faultsOf("rank " + rank, snapshots.get(rank)));
      }
    }
    faults.addAll(DroppedSignals.unwatch());
    if (!faults.isEmpty()) {
      throw new AssertionError(KEY + ": " + String.join("; ", faults));
    }
  }

  /**
   * Finds the faults in the ledgers of a rank that is closed.
   *
   * @param who the rank, for the text
   * @param snapshot its last counters
   * @return a line for each fault
   */
  public static List<String> faultsOf(String who, LciSnapshot snapshot) {
    List<String> faults = new ArrayList<>();
    expectZero(who, snapshot, "loop_parked", faults);
    expectZero(who, snapshot, "loop_uncaught", faults);
    expectZero(who, snapshot, "loop_leased", faults);
    expectZero(who, snapshot, "late_wakes", faults);
    expectZero(who, snapshot, "protocol_errors", faults);
    expectZero(who, snapshot, "link_violations", faults);
    expectZero(who, snapshot, "receives_pending", faults);
    expectZero(who, snapshot, "backlog_depth", faults);
    long posted =
        snapshot.counters().keySet().stream()
            .filter(name -> name.matches("operations_.*_posted"))
            .mapToLong(snapshot::counter)
            .sum();
    long ended = snapshot.counter("signals") + snapshot.counter("signals_dropped");
    if (posted != ended) {
      faults.add(who + ": " + posted + " operations were posted, but " + ended + " have ended");
    }
    long opened = snapshot.counter("exchanges_opened");
    long over = snapshot.counter("exchanges_ended");
    if (opened != over) {
      faults.add(who + ": " + opened + " exchanges were opened, but " + over + " have ended");
    }
    expectSendsInPackets(who, snapshot, faults);
    return faults;
  }

  /**
   * A message that waits for its port when a rank closes lies in a packet: over shared memory in
   * one that is on its way to the receiver, else in one that the sender keeps, as a send that
   * pends. Any other packet is lost, and any other send was forgotten.
   */
  private static void expectSendsInPackets(String who, LciSnapshot snapshot, List<String> faults) {
    long pending = snapshot.counter("sends_pending");
    long held = snapshot.counter("packets_get") - snapshot.counter("packets_put");
    long lent = snapshot.counter("packets_out");
    if (held - lent == pending) {
      return;
    }
    if (pending != 0) {
      faults.add(who + ": sends_pending = " + pending);
    }
    if (held != lent) {
      faults.add(who + ": packets got - put = " + held + ", but " + lent + " are on their way");
    }
  }

  private static void expectZero(
      String who, LciSnapshot snapshot, String counter, List<String> faults) {
    long value = snapshot.counter(counter);
    if (value != 0) {
      faults.add(who + ": " + counter + " = " + value);
    }
  }
}
