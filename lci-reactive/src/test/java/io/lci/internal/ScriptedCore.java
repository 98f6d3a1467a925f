/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.CompletionTarget;
import io.lci.internal.lane.NativeTarget;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import io.lci.nativebridge.NativeMemory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A core with one lane whose answers the test decides: what each descriptor gets, and which records
 * come. Runs on the thread that polls the loop.
 */
final class ScriptedCore {
  /** A descriptor as it was submitted. */
  record Submitted(int op, int rank, int port, int size, long first, long context) {}

  /** Decides the outcome of one descriptor. */
  interface Script {
    int answer(Submitted submitted);
  }

  final Layout layout = NativeLibrary.load().layout();
  final NativeCalls calls;
  final List<List<Submitted>> batches = new ArrayList<>();
  Script script = submitted -> Codes.DONE;
  int generation;
  final Set<Integer> dead = new HashSet<>();

  /** Happens while the loop sleeps. */
  Runnable whileParked = () -> {};

  /** Most descriptors between two crossings in which the core progresses. */
  int mostWithoutProgress;

  private int withoutProgress;

  /** The batches of crossings that did nothing but post. */
  final List<List<Submitted>> postedAlone = new ArrayList<>();

  /** The longest time for which an enter was to go on with calls of groups. */
  long longestSpin;

  final AtomicInteger wakes = new AtomicInteger();
  private final AtomicInteger statusReads = new AtomicInteger();

  /** What the core writes into its log, by level. */
  final ArrayDeque<Map.Entry<Integer, String>> log = new ArrayDeque<>();

  /** What it writes while it closes. */
  final List<Map.Entry<Integer, String>> lastWords = new ArrayList<>();

  /** How often it was closed. */
  int closes;

  /** Hears of each port that is opened. */
  IntConsumer opening = port -> {};

  /** The code of each status that a loop passed on to a completion object. */
  final List<Integer> signals = new ArrayList<>();

  /** Objects, graphs and memory that were freed when they were gone already. */
  final AtomicInteger freedTwice = new AtomicInteger();

  /** The size in the status of each node of a graph. */
  long resultBytes;

  /** How often a run of a graph was cancelled, and how often after its lane was freed. */
  int graphCancels;

  int graphCancelsTooLate;

  private boolean laneFreed;

  /** The descriptor that the script answers now. */
  ByteBuffer descriptor = direct(0);

  /** Why contexts of groups were given up. */
  final List<Integer> revocations = new ArrayList<>();

  /** Contexts that never come again. */
  final List<Long> forgotten = new ArrayList<>();

  private final AtomicLong lastObject = new AtomicLong();

  /** By handle: what a counter has counted, or how much a queue holds; else 0. */
  private final Map<Long, AtomicLong> objects = new ConcurrentHashMap<>();

  private final NativeCalls real = NativeLibrary.load().calls();
  private final ByteBuffer lane =
      direct(layout.completionOffset() + layout.completionCount() * Layout.RECORD_SIZE);
  private final ByteBuffer doorbell = direct(4096);
  private final ByteBuffer arena = direct(1 << 16);
  private final ArrayDeque<Runnable> records = new ArrayDeque<>();

  ScriptedCore() {
    calls =
        (NativeCalls)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {NativeCalls.class},
                (proxy, method, arguments) ->
                    switch (method.getName()) {
                      case "runtimeSize" -> 4;
                      case "runtimeMaxEager" -> 8000;
                      case "runtimePeer" ->
                          out(
                              arguments[2],
                              dead.contains((int) arguments[1])
                                  ? Codes.PEER_FAILED
                                  : Codes.PEER_ALIVE);
                      case "laneCreate" -> out(arguments[3], 1L);
                      case "laneMemory" -> region(lane, arguments[1], arguments[2]);
                      case "laneDoorbell" -> region(doorbell, arguments[1], arguments[2]);
                      case "runtimeArena" -> region(arena, arguments[1], arguments[2]);
                      case "laneParkOffset" -> 64L;
                      case "laneSummaryOffset" -> 128L;
                      case "codeName" -> real.codeName((int) arguments[0]);
                      case "laneEnter" -> enter();
                      case "lanePark" -> park();
                      case "queueCreateKind" -> create(arguments[3]);
                      case "laneSynchronizerCreate" -> create(arguments[2]);
                      case "counterCreate" -> create(arguments[1]);
                      case "compId" -> (int) (long) arguments[0];
                      case "compFree", "memoryFree", "memoryDeregister" ->
                          free((long) arguments[0]);
                      case "remoteClose" -> free((long) arguments[1]);
                      case "laneGraphCreate" -> create(arguments[8]);
                      case "laneGraphFree" -> free((int) arguments[1]);
                      case "laneGraphCancel" -> cancelGraph();
                      case "laneGraphStatuses" -> readStatuses((int) arguments[3], arguments[4]);
                      case "laneFree" -> freeLane();
                      case "laneOpenPart" -> open((int) arguments[1]);
                      case "compSignal", "compSignalReserved" -> signalled((long) arguments[1]);
                      case "counterGet", "queueLength" -> count((long) arguments[0]).get();
                      case "counterSet" -> set((long) arguments[0], (long) arguments[1]);
                      case "queuePopMany" -> pop((long) arguments[0], (int) arguments[2]);
                      case "logTake" -> takeLine((long) arguments[1], (long) arguments[2]);
                      case "runtimeClose" -> close();
                      case "runtimeLog" -> out(arguments[1], 1L);
                      case "laneWake" -> woken();
                      case "contextCreate" -> out(arguments[3], object());
                      case "contextFailure" -> Codes.RETRY;
                      case "contextRevoke" -> revoked((int) arguments[1]);
                      case "contextForget" -> forgotten((long) arguments[0]);
                      default -> 0;
                    });
  }

  /** The next full enter records that a destination has room. */
  void writable(int rank, int port, long count) {
    records.add(
        () -> {
          int at = nextRecord(Codes.RECORD_WRITABLE);
          lane.putInt(at + Layout.RECORD_RANK, rank);
          lane.putShort(at + Layout.RECORD_PORT, (short) port);
          lane.putLong(at + Layout.RECORD_CONTEXT, count);
        });
    ring();
  }

  /** The next full enter ends an operation; {@code rank} is the peer. */
  void ended(long context, int code, int rank) {
    records.add(
        () -> {
          int at = nextRecord(Codes.RECORD_OP);
          lane.putInt(at + Layout.RECORD_RANK, rank);
          lane.putShort(at + Layout.RECORD_CODE, (short) code);
          lane.putLong(at + Layout.RECORD_CONTEXT, context);
        });
    ring();
  }

  /** From now on a peer is dead; the next full enter tells it. */
  void died(int rank) {
    dead.add(rank);
    peer(rank, Codes.PEER_FAILED);
  }

  /** The next full enter tells that this rank is cut off from a peer: others say that it died. */
  void fenced(int rank) {
    peer(rank, Codes.PEER_FENCED);
  }

  /** The next full enter tells that a peer left. */
  void left(int rank) {
    peer(rank, Codes.PEER_LEFT);
  }

  private void peer(int rank, int state) {
    records.add(
        () -> {
          int at = nextRecord(Codes.RECORD_PEER);
          lane.putInt(at + Layout.RECORD_RANK, rank);
          lane.putLong(at + Layout.RECORD_CONTEXT, state);
        });
    ring();
  }

  /** The next full enter delivers an empty message. */
  void message(int inbox) {
    records.add(
        () -> lane.putShort(nextRecord(Codes.RECORD_MESSAGE) + Layout.RECORD_INDEX, (short) inbox));
    ring();
  }

  /** The next full enter fires a synchronizer. */
  void fired(int id) {
    records.add(
        () ->
            lane.putLong(
                nextRecord(Codes.RECORD_SYNC) + Layout.RECORD_CONTEXT, (long) id << Integer.SIZE));
    ring();
  }

  /** Says how many messages are stored for an inbox. */
  void stored(int inbox, int messages) {
    lane.putInt(layout.demandOffset() + inbox * Layout.DEMAND_SIZE + Layout.DEMAND_DEPTH, messages);
  }

  /** Something is to be told to the loop; its ring holds so much at a time. */
  boolean hasMoreToTell() {
    return !records.isEmpty();
  }

  /** A queue has so many more entries, or a counter counted so many more. Any thread. */
  void signal(CompletionTarget object, long times) {
    count(((NativeTarget) object).handle()).addAndGet(times);
    ring();
  }

  private int readStatuses(int count, Object into) {
    statusReads.incrementAndGet();
    for (int i = 0; i < count; i++) {
      out((long) into + (long) i * Layout.STATUS_SIZE + Layout.STATUS_SIZE_FIELD, resultBytes);
    }
    return Codes.DONE;
  }

  /** How often the results of graphs were read. */
  int statusReads() {
    return statusReads.get();
  }

  /** The next full enter fires a host node of a graph; its answer has the graph's id as context. */
  void graphFires(int id, int node) {
    records.add(() -> graphRecord(Codes.RECORD_HOST_NODE, id, node, Codes.DONE));
    ring();
  }

  /** The next full enter ends the run of a graph. */
  void graphEnds(int id, int code) {
    records.add(() -> graphRecord(Codes.RECORD_GRAPH, id, 0, code));
    ring();
  }

  private void graphRecord(int kind, int id, int node, int code) {
    int at = nextRecord(kind);
    lane.putInt(at + Layout.RECORD_RANK, node);
    lane.putShort(at + Layout.RECORD_CODE, (short) code);
    lane.putLong(at + Layout.RECORD_CONTEXT, id);
  }

  /** Makes something that can be freed, and returns its handle. Any thread. */
  long object() {
    long handle = lastObject.incrementAndGet();
    objects.put(handle, new AtomicLong());
    return handle;
  }

  /** The handle or id of what was made last. */
  int lastObject() {
    return lastObject.intValue();
  }

  /** Whether it was freed, or never made. Any thread. */
  boolean isGone(long handle) {
    return !objects.containsKey(handle);
  }

  private AtomicLong count(long handle) {
    return objects.getOrDefault(handle, new AtomicLong());
  }

  private int create(Object out) {
    return out(out, object());
  }

  private int free(long handle) {
    if (objects.remove(handle) == null) {
      freedTwice.incrementAndGet();
    }
    return Codes.DONE;
  }

  private int cancelGraph() {
    graphCancels++;
    if (laneFreed) {
      graphCancelsTooLate++;
    }
    return Codes.DONE;
  }

  private int revoked(int cause) {
    revocations.add(cause);
    return Codes.DONE;
  }

  private int forgotten(long context) {
    forgotten.add(context);
    return Codes.DONE;
  }

  private int freeLane() {
    laneFreed = true;
    return Codes.DONE;
  }

  private int signalled(long status) {
    signals.add(NativeMemory.wrap(status, Layout.STATUS_SIZE).buffer().getInt(Layout.STATUS_CODE));
    return Codes.DONE;
  }

  private int open(int port) {
    opening.accept(port);
    return Codes.DONE;
  }

  private @Nullable Object set(long handle, long value) {
    count(handle).set(value);
    return null;
  }

  /** All of its statuses are zeros. */
  private int pop(long handle, int most) {
    AtomicLong held = count(handle);
    int popped = (int) Math.min(held.get(), most);
    held.addAndGet(-popped);
    return popped;
  }

  /** Makes the loop enter at its next turn. */
  void ring() {
    doorbell.put(128, (byte) 1);
  }

  /** What was submitted in all, flat. */
  List<Submitted> submitted() {
    return batches.stream().flatMap(List::stream).toList();
  }

  private int park() {
    whileParked.run();
    return Codes.RETRY;
  }

  private @Nullable Object woken() {
    wakes.incrementAndGet();
    return null;
  }

  private int enter() {
    int control = layout.controlOffset();
    int count = lane.getInt(control + Layout.CONTROL_SUBMIT_COUNT);
    int flags = lane.getInt(control + Layout.CONTROL_FLAGS);
    int moved = 0;
    if (count > 0) {
      answer(count);
      moved++;
      if ((flags & Codes.ENTER_PROGRESS) == 0) {
        postedAlone.add(batches.get(batches.size() - 1));
      }
      withoutProgress += batches.get(batches.size() - 1).size();
      mostWithoutProgress = Math.max(mostWithoutProgress, withoutProgress);
    }
    if ((flags & Codes.ENTER_PROGRESS) != 0) {
      longestSpin = Math.max(longestSpin, lane.getLong(control + Layout.CONTROL_SPIN_NS));
      withoutProgress = 0;
    }
    lane.putInt(control + Layout.CONTROL_SUBMIT_COUNT, 0);
    if ((flags & Codes.ENTER_DRAIN) != 0) {
      doorbell.put(128, (byte) 0);
      while (!records.isEmpty() && hasRoom()) {
        records.remove().run();
        moved++;
      }
      if (!records.isEmpty()) {
        ring();
      }
      lane.putInt(control + Layout.CONTROL_GENERATION, generation);
    }
    lane.putInt(control + Layout.CONTROL_MOVED, moved);
    return moved > 0 ? Codes.DONE : Codes.RETRY;
  }

  private void answer(int count) {
    List<Submitted> batch = new ArrayList<>();
    for (int i = 0; i < count; ) {
      int at = layout.submissionOffset() + i * Layout.DESCRIPTOR_SIZE;
      int size = lane.getInt(at + Layout.DESCRIPTOR_SIZE_FIELD);
      boolean inline =
          (lane.get(at + Layout.DESCRIPTOR_FLAGS) & Codes.FLAG_PAYLOAD_MASK) == Codes.FLAG_INLINE;
      int op = lane.get(at + Layout.DESCRIPTOR_OP);
      boolean behind = inline && op == Codes.OP_PUT; // where its payload begins
      Submitted submitted =
          new Submitted(
              op,
              lane.getInt(at + Layout.DESCRIPTOR_RANK),
              lane.getShort(at + Layout.DESCRIPTOR_PORT),
              size,
              lane.getLong(
                  at + (behind ? Layout.DESCRIPTOR_PUT_PAYLOAD : Layout.DESCRIPTOR_PAYLOAD)),
              lane.getLong(at + Layout.DESCRIPTOR_CONTEXT));
      batch.add(submitted);
      descriptor = lane.slice(at, Layout.DESCRIPTOR_SIZE).order(ByteOrder.LITTLE_ENDIAN);
      lane.putShort(at + Layout.DESCRIPTOR_OUTCOME, (short) script.answer(submitted));
      int beyond = inline && op != Codes.OP_COLLECTIVE ? Math.max(0, behind ? size : size - 32) : 0;
      i += 1 + (beyond + 63) / 64;
    }
    batches.add(batch);
  }

  private int takeLine(long outLevel, long out) {
    Map.Entry<Integer, String> line = log.poll();
    if (line == null) {
      return Codes.RETRY;
    }
    NativeMemory.wrap(outLevel, Integer.BYTES).buffer().putInt(0, line.getKey());
    byte[] text = line.getValue().getBytes(StandardCharsets.UTF_8);
    NativeMemory.wrap(out, text.length + 1).buffer().put(text).put((byte) 0);
    return Codes.DONE;
  }

  private int close() {
    closes++;
    log.addAll(lastWords);
    return Codes.DONE;
  }

  private boolean hasRoom() {
    int control = layout.controlOffset();
    int unread =
        lane.getInt(control + Layout.CONTROL_CQ_TAIL)
            - lane.getInt(control + Layout.CONTROL_CQ_HEAD);
    return unread < layout.completionCount();
  }

  private int nextRecord(int kind) {
    int tailAt = layout.controlOffset() + Layout.CONTROL_CQ_TAIL;
    int tail = lane.getInt(tailAt);
    int at =
        layout.completionOffset() + (tail & (layout.completionCount() - 1)) * Layout.RECORD_SIZE;
    for (int i = 0; i < Layout.RECORD_SIZE; i += 8) {
      lane.putLong(at + i, 0);
    }
    lane.put(at + Layout.RECORD_KIND, (byte) kind);
    lane.putInt(tailAt, tail + 1);
    return at;
  }

  private static int region(ByteBuffer memory, Object outBase, Object outLength) {
    out(outBase, NativeMemory.address(memory));
    return out(outLength, (long) memory.capacity());
  }

  private static int out(Object address, long value) {
    NativeMemory.wrap((long) address, Long.BYTES).buffer().putLong(0, value);
    return Codes.DONE;
  }

  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
