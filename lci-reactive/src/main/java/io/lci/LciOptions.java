/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.stream.StreamLimits;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of a runtime. Immutable. A value set by the program wins over the system property {@code
 * lci.<name>}, that one over the environment variable {@code LCI_ATTR_<NAME>}, and that one over
 * the default. An unknown {@code lci.*} property or {@code LCI_ATTR_*} variable is an error, which
 * names a known one of similar spelling; only {@code lci.test.*} is left to tests. The properties
 * {@code lci.native.path}, {@code .dir}, {@code .tmpdir} and {@code .calls} belong to the loader:
 * they say where the native library is, and which calls serve it.
 *
 * <table>
 *   <caption>Options of the loops; every attribute of the core is accepted too, see {@link Builder#attribute}</caption>
 *   <tr><th>Property</th><th>Meaning</th><th>Default</th></tr>
 *   <tr><td>{@code lci.loops}</td><td>event loops</td><td>1</td></tr>
 *   <tr><td>{@code lci.devices}</td><td>devices, shared out among the loops</td><td>as loops</td></tr>
 *   <tr><td>{@code lci.invoker}</td><td>loops without threads, driven by the user</td><td>false</td></tr>
 *   <tr><td>{@code lci.idle}</td><td>{@code backoff}, {@code yielding}, {@code busy_spin} or {@code parking}</td><td>backoff</td></tr>
 *   <tr><td>{@code lci.idle_spins}</td><td>empty turns before yielding</td><td>32</td></tr>
 *   <tr><td>{@code lci.idle_yields}</td><td>yields before parking</td><td>128</td></tr>
 *   <tr><td>{@code lci.progress}</td><td>{@code local}; {@code help}, or {@code help:} and microseconds; {@code random} or {@code global}, or with {@code :} and turns</td><td>local</td></tr>
 *   <tr><td>{@code lci.affinity}</td><td>for each loop an offset into the CPUs allowed, with commas</td><td>not bound</td></tr>
 *   <tr><td>{@code lci.max_posted}</td><td>operations in flight per loop</td><td>65,536</td></tr>
 *   <tr><td>{@code lci.max_parked}</td><td>refused operations waiting per loop</td><td>1,048,576</td></tr>
 *   <tr><td>{@code lci.max_receive_bytes}</td><td>longest message of a receive that names no length</td><td>1,073,741,824</td></tr>
 *   <tr><td>{@code lci.close_timeout_ms}</td><td>graceful part of {@code close()}</td><td>10,000</td></tr>
 *   <tr><td>{@code lci.stall_warning_ms}</td><td>time without progress before a warning</td><td>5,000</td></tr>
 *   <tr><td>{@code lci.blocked_warning_ms}</td><td>time in one turn before a warning</td><td>1,000</td></tr>
 * </table>
 *
 * @since 0.1
 */
public final class LciOptions {
  /** Default of {@link #loops()}. */
  public static final int DEFAULT_LOOPS = 1;

  /** Most loops of a runtime, and most devices. */
  public static final int MAX_LOOPS = 128;

  /** Default of {@link #idleSpins()}. */
  public static final int DEFAULT_IDLE_SPINS = 32;

  /** Default of {@link #idleYields()}. */
  public static final int DEFAULT_IDLE_YIELDS = 128;

  /** Default of {@link #maxPosted()}. */
  public static final int DEFAULT_MAX_POSTED = 1 << 16;

  /** Default of {@link #maxParked()}. */
  public static final int DEFAULT_MAX_PARKED = 1 << 20;

  /** Default of {@link #maxReceiveBytes()}, and the most. */
  public static final int DEFAULT_MAX_RECEIVE_BYTES = 1 << 30;

  /** Default of {@link #closeTimeout()}. */
  public static final Duration DEFAULT_CLOSE_TIMEOUT = Duration.ofSeconds(10);

  /** Default of {@link #stallWarning()}. */
  public static final Duration DEFAULT_STALL_WARNING = Duration.ofSeconds(5);

  /** Default of {@link #blockedWarning()}. */
  public static final Duration DEFAULT_BLOCKED_WARNING = Duration.ofSeconds(1);

  private static final LciOptions DEFAULTS = builder().build();

  private final @Nullable Integer loops;
  private final @Nullable Integer devices;
  private final @Nullable Boolean invoker;
  private final @Nullable IdleStrategy idle;
  private final @Nullable Integer idleSpins;
  private final @Nullable Integer idleYields;
  private final @Nullable ProgressStrategy progress;
  private final @Nullable List<Integer> affinity;
  private final @Nullable Integer maxPosted;
  private final @Nullable Integer maxParked;
  private final @Nullable Integer maxReceiveBytes;
  private final @Nullable Duration closeTimeout;
  private final @Nullable Duration stallWarning;
  private final @Nullable Duration blockedWarning;
  private final @Nullable Scheduler timer;
  private final LciInstrumentation instrumentation;
  private final StreamLimits streamLimits;
  private final Map<String, String> attributes;

  private LciOptions(Builder b) {
    loops = b.loops;
    devices = b.devices;
    invoker = b.invoker;
    idle = b.idle;
    idleSpins = b.idleSpins;
    idleYields = b.idleYields;
    progress = b.progress;
    affinity = b.affinity;
    maxPosted = b.maxPosted;
    maxParked = b.maxParked;
    maxReceiveBytes = b.maxReceiveBytes;
    closeTimeout = b.closeTimeout;
    stallWarning = b.stallWarning;
    blockedWarning = b.blockedWarning;
    timer = b.timer;
    instrumentation = b.instrumentation;
    streamLimits = b.streamLimits;
    attributes = Collections.unmodifiableMap(new TreeMap<>(b.attributes));
  }

  /** {@return options in which nothing is set} */
  public static LciOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a new builder} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a builder that starts from these options} */
  public Builder mutate() {
    return new Builder(this);
  }

  /**
   * {@return how many event loops the runtime starts with} Default {@value #DEFAULT_LOOPS}. {@link
   * LciRuntime#addLoop()} adds more.
   */
  public int loops() {
    return loops == null ? DEFAULT_LOOPS : loops;
  }

  /**
   * {@return how many devices these loops share out} Default: as many as {@link #loops()}. A loop
   * that is added brings its own.
   */
  public int devices() {
    return devices == null ? loops() : devices;
  }

  /** {@return whether the loops are driven by the user's threads} Default false. */
  public boolean invoker() {
    return invoker != null && invoker;
  }

  /**
   * {@return what a loop does when it has nothing to do} Default {@link IdleStrategy#backoff(int,
   * int)} with {@link #idleSpins()} and {@link #idleYields()}.
   */
  public IdleStrategy idle() {
    return idle == null ? IdleStrategy.backoff(idleSpins(), idleYields()) : idle;
  }

  /**
   * {@return how many empty turns a loop makes before it yields} Default {@value
   * #DEFAULT_IDLE_SPINS}.
   */
  public int idleSpins() {
    return idleSpins == null ? DEFAULT_IDLE_SPINS : idleSpins;
  }

  /**
   * {@return how many times an idle loop yields before it parks} Default {@value
   * #DEFAULT_IDLE_YIELDS}.
   */
  public int idleYields() {
    return idleYields == null ? DEFAULT_IDLE_YIELDS : idleYields;
  }

  /**
   * {@return whether a loop also progresses the devices of others} Default {@link
   * ProgressStrategy#local()}.
   */
  public ProgressStrategy progress() {
    return progress == null ? ProgressStrategy.local() : progress;
  }

  /**
   * {@return the CPU of each loop, as an offset into the CPUs that its thread may use; empty if
   * loops are not bound, the default} Unmodifiable.
   */
  public List<Integer> affinity() {
    return affinity == null ? List.of() : affinity;
  }

  /**
   * {@return how many operations may be in flight per loop} Default {@value #DEFAULT_MAX_POSTED}.
   */
  public int maxPosted() {
    return maxPosted == null ? DEFAULT_MAX_POSTED : maxPosted;
  }

  /**
   * {@return how many refused operations may wait per loop; beyond it they end with {@link
   * io.lci.error.ResourceExhaustedException}} Default {@value #DEFAULT_MAX_PARKED}.
   */
  public int maxParked() {
    return maxParked == null ? DEFAULT_MAX_PARKED : maxParked;
  }

  /**
   * {@return the longest message of a {@linkplain io.lci.matching.Tagged#receive(int, long) receive
   * that names no length}, in bytes; a longer one ends in {@link io.lci.error.TruncatedException}}
   * Default {@value #DEFAULT_MAX_RECEIVE_BYTES}.
   */
  public int maxReceiveBytes() {
    return maxReceiveBytes == null ? DEFAULT_MAX_RECEIVE_BYTES : maxReceiveBytes;
  }

  /** {@return the time of the graceful part of {@link LciRuntime#close()}} Default 10 seconds. */
  public Duration closeTimeout() {
    return closeTimeout == null ? DEFAULT_CLOSE_TIMEOUT : closeTimeout;
  }

  /**
   * {@return the time after which a destination that accepts nothing is reported} Default 5
   * seconds.
   */
  public Duration stallWarning() {
    return stallWarning == null ? DEFAULT_STALL_WARNING : stallWarning;
  }

  /** {@return the time in one turn after which a loop is reported as blocked} Default 1 second. */
  public Duration blockedWarning() {
    return blockedWarning == null ? DEFAULT_BLOCKED_WARNING : blockedWarning;
  }

  /**
   * {@return the scheduler of deadlines, or null for {@link
   * reactor.core.scheduler.Schedulers#parallel()}}
   */
  public @Nullable Scheduler timer() {
    return timer;
  }

  /** {@return the observer} Default {@link LciInstrumentation#NONE}. */
  public LciInstrumentation instrumentation() {
    return instrumentation;
  }

  /** {@return the bounds of streams and RPC} Default {@link StreamLimits#defaults()}. */
  public StreamLimits streamLimits() {
    return streamLimits;
  }

  /**
   * {@return the attributes of the core that are set here; on effective options, all of them}
   * Unmodifiable.
   */
  public Map<String, String> attributes() {
    return attributes;
  }

  /**
   * Tells whether a value was set by the builder, so that other sources do not apply.
   *
   * @param name name of an option or attribute, without the prefix {@code lci.}
   * @return whether it was set
   */
  public boolean isSet(String name) {
    return switch (name) {
      case "loops" -> loops != null;
      case "devices" -> devices != null;
      case "idle" -> idle != null || idleSpins != null || idleYields != null;
      case "progress" -> progress != null;
      case "affinity" -> affinity != null;
      case "blocked_warning_ms" -> blockedWarning != null;
      case "invoker" -> invoker != null;
      case "idle_spins" -> idleSpins != null;
      case "idle_yields" -> idleYields != null;
      case "max_posted" -> maxPosted != null;
      case "max_parked" -> maxParked != null;
      case "max_receive_bytes" -> maxReceiveBytes != null;
      case "close_timeout_ms" -> closeTimeout != null;
      case "stall_warning_ms" -> stallWarning != null;
      default -> attributes.containsKey(name);
    };
  }

  @Override
  public String toString() {
    return "LciOptions[loops="
        + loops()
        + ", devices="
        + devices()
        + ", idle="
        + idle()
        + ", progress="
        + progress()
        + ", affinity="
        + affinity()
        + ", invoker="
        + invoker()
        + ", maxPosted="
        + maxPosted()
        + ", maxParked="
        + maxParked()
        + ", maxReceiveBytes="
        + maxReceiveBytes()
        + ", closeTimeout="
        + closeTimeout()
        + ", stallWarning="
        + stallWarning()
        + ", blockedWarning="
        + blockedWarning()
        + ", timer="
        + (timer == null ? "parallel" : timer)
        + ", instrumentation="
        + instrumentation
        + ", streamLimits="
        + streamLimits
        + ", attributes="
        + attributes
        + ']';
  }

  /** Builds {@link LciOptions}. Not thread-safe. */
  public static final class Builder {
    private @Nullable Integer loops;
    private @Nullable Integer devices;
    private @Nullable Boolean invoker;
    private @Nullable IdleStrategy idle;
    private @Nullable Integer idleSpins;
    private @Nullable Integer idleYields;
    private @Nullable ProgressStrategy progress;
    private @Nullable List<Integer> affinity;
    private @Nullable Integer maxPosted;
    private @Nullable Integer maxParked;
    private @Nullable Integer maxReceiveBytes;
    private @Nullable Duration closeTimeout;
    private @Nullable Duration stallWarning;
    private @Nullable Duration blockedWarning;
    private @Nullable Scheduler timer;
    private LciInstrumentation instrumentation = LciInstrumentation.NONE;
    private StreamLimits streamLimits = StreamLimits.defaults();
    private final Map<String, String> attributes = new TreeMap<>();

    private Builder() {}

    private Builder(LciOptions o) {
      loops = o.loops;
      devices = o.devices;
      invoker = o.invoker;
      idle = o.idle;
      idleSpins = o.idleSpins;
      idleYields = o.idleYields;
      progress = o.progress;
      affinity = o.affinity;
      maxPosted = o.maxPosted;
      maxParked = o.maxParked;
      maxReceiveBytes = o.maxReceiveBytes;
      closeTimeout = o.closeTimeout;
      stallWarning = o.stallWarning;
      blockedWarning = o.blockedWarning;
      timer = o.timer;
      instrumentation = o.instrumentation;
      streamLimits = o.streamLimits;
      attributes.putAll(o.attributes);
    }

    /**
     * Sets the number of event loops at the start.
     *
     * @param value 1 to {@value LciOptions#MAX_LOOPS}
     * @return this
     */
    public Builder loops(int value) {
      loops = range("loops", value, 1, MAX_LOOPS);
      return this;
    }

    /**
     * Sets the number of devices, at least as many as there are loops. Each loop serves devices
     * next to each other; loop i serves those of {@link LciLoop#devices()}. Device k talks to
     * device k of every other rank, so all ranks start with the same number of devices; the number
     * of loops need not be the same. More devices than loops let a rank with few CPUs join a job of
     * ranks with many.
     *
     * @param value 1 to {@value LciOptions#MAX_LOOPS}
     * @return this
     */
    public Builder devices(int value) {
      devices = range("devices", value, 1, MAX_LOOPS);
      return this;
    }

    /**
     * Sets whether the loops are driven by the user through {@link LciLoop#poll()} and {@link
     * LciLoop#await}.
     *
     * @param value true for loops without threads
     * @return this
     */
    public Builder invoker(boolean value) {
      invoker = value;
      return this;
    }

    /**
     * Sets what a loop does when it has nothing to do. Overrides {@link #idleSpins} and {@link
     * #idleYields}.
     *
     * @param value asked by every loop of the runtime, each on its own thread
     * @return this
     */
    public Builder idle(IdleStrategy value) {
      idle = Objects.requireNonNull(value, "idle");
      return this;
    }

    /**
     * Sets whether a loop also progresses the devices of others. Creating the runtime fails with
     * {@link io.lci.error.LciException} if a loop is to {@linkplain ProgressStrategy#help() help}
     * and there is no other.
     *
     * @param value followed by every loop of the runtime
     * @return this
     */
    public Builder progress(ProgressStrategy value) {
      progress = Objects.requireNonNull(value, "progress");
      return this;
    }

    /**
     * Binds each loop's thread to one CPU. An offset counts the CPUs that the creating thread may
     * use at that moment, in the order of their numbers, so it means the same in a container or
     * under {@code taskset}. Creating the runtime fails with {@link io.lci.error.AffinityException}
     * if there are not so many. Not for invoker loops.
     *
     * @param offsets one for each loop, 0 or more; several loops may have the same; none: not bound
     * @return this
     */
    public Builder affinity(int... offsets) {
      for (int offset : Objects.requireNonNull(offsets, "offsets")) {
        range("affinity", offset, 0, Integer.MAX_VALUE);
      }
      affinity = Arrays.stream(offsets).boxed().toList();
      return this;
    }

    /**
     * Sets how many empty turns a loop makes before it yields.
     *
     * @param value 0 or more
     * @return this
     */
    public Builder idleSpins(int value) {
      idleSpins = range("idle_spins", value, 0, Integer.MAX_VALUE);
      return this;
    }

    /**
     * Sets how many times an idle loop yields before it parks.
     *
     * @param value 0 or more
     * @return this
     */
    public Builder idleYields(int value) {
      idleYields = range("idle_yields", value, 0, Integer.MAX_VALUE);
      return this;
    }

    /**
     * Sets how many operations may be in flight per loop; more answer retry_pending and wait.
     *
     * @param value 1 to 2^24
     * @return this
     */
    public Builder maxPosted(int value) {
      maxPosted = range("max_posted", value, 1, 1 << 24);
      return this;
    }

    /**
     * Sets how many refused operations may wait per loop.
     *
     * @param value 1 to 2^28
     * @return this
     */
    public Builder maxParked(int value) {
      maxParked = range("max_parked", value, 1, 1 << 28);
      return this;
    }

    /**
     * Sets the longest message of a receive that names no length. Memory is taken when a message
     * comes, as much as it needs.
     *
     * @param value 1 to {@value LciOptions#DEFAULT_MAX_RECEIVE_BYTES}
     * @return this
     */
    public Builder maxReceiveBytes(int value) {
      maxReceiveBytes = range("max_receive_bytes", value, 1, DEFAULT_MAX_RECEIVE_BYTES);
      return this;
    }

    /**
     * Sets the time of the graceful part of {@link LciRuntime#close()}.
     *
     * @param value zero: operations that wait or are under way are given up
     * @return this
     */
    public Builder closeTimeout(Duration value) {
      closeTimeout = notNegative("close_timeout_ms", Objects.requireNonNull(value, "closeTimeout"));
      return this;
    }

    /**
     * Sets the time after which a destination that accepts nothing is reported, once per stall.
     *
     * @param value zero turns the report off
     * @return this
     */
    public Builder stallWarning(Duration value) {
      stallWarning = notNegative("stall_warning_ms", Objects.requireNonNull(value, "stallWarning"));
      return this;
    }

    /**
     * Sets the time in one turn after which a loop counts as blocked. The watchdog then logs where
     * its thread is, once per turn, with the first frame that is neither the library's, Reactor's
     * nor the JDK's, and counts it ({@code loop_stalls}). The watchdog runs on {@link #timer}.
     *
     * @param value zero turns the watchdog off
     * @return this
     */
    public Builder blockedWarning(Duration value) {
      blockedWarning =
          notNegative("blocked_warning_ms", Objects.requireNonNull(value, "blockedWarning"));
      return this;
    }

    /**
     * Sets the scheduler of deadlines, for virtual time. A graceful close ends when the limit has
     * passed on this scheduler or in real time. {@link LciLoop#poll}, {@link LciLoop#await}, the
     * end of the core, and the waiting of {@code close()} beyond its limit are in real time,
     * because they hold a thread. {@link #stallWarning}, which a loop checks between its turns, is
     * in real time, too.
     *
     * @param value the scheduler. When it was disposed, everything that needs a time fails with
     *     {@link io.lci.error.LciClosedException}, except a close, which uses real time. An error
     *     that it throws when an operation or a call takes its deadline back is dropped, as Reactor
     *     drops errors
     * @return this
     */
    public Builder timer(Scheduler value) {
      timer = Objects.requireNonNull(value, "timer");
      return this;
    }

    /**
     * Sets the observer.
     *
     * @param value the observer
     * @return this
     */
    public Builder instrumentation(LciInstrumentation value) {
      instrumentation = Objects.requireNonNull(value, "instrumentation");
      return this;
    }

    /**
     * Sets the bounds of streams and RPC with each peer.
     *
     * @param value the limits
     * @return this
     */
    public Builder streamLimits(StreamLimits value) {
      streamLimits = Objects.requireNonNull(value, "streamLimits");
      return this;
    }

    /**
     * Sets an attribute of the core, as text. Names and values are checked when the runtime is
     * created; {@code ./lci info} lists them.
     *
     * @param name for example {@code "packet_size"}
     * @param value its value
     * @return this
     */
    public Builder attribute(String name, String value) {
      attributes.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, "value"));
      return this;
    }

    /** {@return the options} */
    public LciOptions build() {
      return new LciOptions(this);
    }

    private static int range(String name, int value, int least, int most) {
      if (value < least || value > most) {
        throw new IllegalArgumentException(
            name + " must be in " + least + ".." + most + ": " + value);
      }
      return value;
    }

    private static Duration notNegative(String name, Duration value) {
      if (value.isNegative()) {
        throw new IllegalArgumentException(name + " must not be negative: " + value);
      }
      return value;
    }
  }
}
