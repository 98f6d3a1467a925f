/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.CoreInfo;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.NativeLoadException;
import io.lci.internal.core.CoreLog;
import io.lci.internal.core.Errors;
import io.lci.internal.loop.Affinity;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopThread;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import io.lci.nativebridge.NativeLibraryException;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Creates runtimes. */
public final class Runtimes {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);
  private static final int VALUE_BYTES = 4096;

  private static final AtomicBoolean TOLD = new AtomicBoolean();

  private Runtimes() {}

  /**
   * Joins the job that the environment names.
   *
   * @param options the options
   * @return the runtime
   */
  public static LciRuntime create(LciOptions options) {
    return create(options, 0, 0);
  }

  /**
   * As {@link #create(LciOptions)}, on a thread that may block.
   *
   * @param options the options
   * @return emits the runtime
   */
  public static Mono<LciRuntime> connect(LciOptions options) {
    return connect(() -> create(options));
  }

  /**
   * As above, however it is created. Not from a Callable: subscribeOn would call that one itself,
   * and let go what it returns after a cancel.
   */
  public static Mono<LciRuntime> connect(Supplier<? extends LciRuntime> create) {
    return Mono.defer(() -> Mono.<LciRuntime>just(create.get()))
        .subscribeOn(Schedulers.boundedElastic())
        .doOnDiscard(LciRuntime.class, LciRuntime::dispose);
  }

  /**
   * Creates a job whose ranks are runtimes of this process.
   *
   * @param size ranks
   * @return the job's handle, to be given to {@link #freeJob}
   */
  public static long createJob(int size) {
    NativeCalls calls = load().calls();
    NativeScratch out = new NativeScratch(1);
    Errors.check(calls, calls.inprocCreate(size, out.address(0)), "create job", LciException.NONE);
    return out.getLong(0);
  }

  /**
   * Drops the creator's reference to a job.
   *
   * @param job handle of {@link #createJob}
   */
  public static void freeJob(long job) {
    load().calls().inprocFree(job);
  }

  /**
   * Joins a job. Blocks until every rank has arrived.
   *
   * @param options the options
   * @param job handle of {@link #createJob}, or 0 for the job that the environment names
   * @param rank rank in that job
   * @return the runtime
   */
  public static LciRuntime create(LciOptions options, long job, int rank) {
    NativeLibrary library = load();
    return create(library.calls(), library.layout(), options, job, rank, LoopThread::new);
  }

  /** As above, over these calls and with the loops on these threads. */
  public static LciRuntime create(
      NativeCalls calls,
      Layout layout,
      LciOptions options,
      long job,
      int rank,
      Function<? super EventLoop, ? extends Thread> threads) {
    LciOptions resolved =
        new OptionSources(attributeNames(calls), System.getProperties(), System.getenv())
            .resolve(options);
    Affinity.check(calls, resolved);
    NativeScratch out = new NativeScratch(1);
    Errors.check(calls, calls.attrsCreate(out.address(0)), "create runtime", LciException.NONE);
    long attributes = out.getLong(0);
    try {
      Map<String, String> wanted = new LinkedHashMap<>(resolved.attributes());
      wanted.put("max_posted", Integer.toString(resolved.maxPosted()));
      wanted.put("devices", Integer.toString(resolved.devices()));
      OptionSources.ownNames().forEach(name -> own(calls, attributes, name));
      wanted.forEach((name, value) -> set(calls, attributes, name, value));
      Errors.check(
          calls,
          calls.runtimeCreate(attributes, job, rank, out.address(0)),
          "create runtime",
          LciException.NONE);
    } finally {
      calls.attrsFree(attributes);
    }
    long handle = out.getLong(0);
    CoreLog log = null;
    RuntimeImpl runtime;
    try {
      log = new CoreLog(calls, handle);
      LciOptions effective = effective(calls, handle, resolved);
      runtime = new RuntimeImpl(calls, layout, handle, effective, log);
    } catch (
        Throwable e) { // whatever it is: the other ranks must not wait for one that has no loops
      int code = calls.runtimeClose(handle, 0);
      if (Codes.isError(code)) {
        e.addSuppressed(Errors.of(Detail.of("close", Errors.name(calls, code), ""), code));
      }
      if (log != null) {
        log.close();
      }
      throw e;
    }
    runtime.start(threads); // ends the core itself if it fails
    return runtime;
  }

  private static void set(NativeCalls calls, long attributes, String name, String value) {
    ByteBuffer nativeName = NativeMemory.cString(name);
    ByteBuffer nativeValue = NativeMemory.cString(value);
    int code =
        calls.attrsSet(
            attributes, NativeMemory.address(nativeName), NativeMemory.address(nativeValue));
    java.lang.ref.Reference.reachabilityFence(nativeName);
    java.lang.ref.Reference.reachabilityFence(nativeValue);
    Errors.check(calls, code, "set attribute " + name, LciException.NONE);
  }

  private static void own(NativeCalls calls, long attributes, String name) {
    ByteBuffer nativeName = NativeMemory.cString(name);
    int code = calls.attrsOwn(attributes, NativeMemory.address(nativeName));
    java.lang.ref.Reference.reachabilityFence(nativeName);
    Errors.check(calls, code, "own attribute " + name, LciException.NONE);
  }

  /** The options with the value of every attribute as the core uses it. */
  private static LciOptions effective(NativeCalls calls, long handle, LciOptions options) {
    LciOptions.Builder result = options.mutate();
    ByteBuffer value = ByteBuffer.allocateDirect(VALUE_BYTES);
    for (String name : attributeNames(calls)) {
      ByteBuffer nativeName = NativeMemory.cString(name);
      int code =
          calls.runtimeAttr(
              handle, NativeMemory.address(nativeName), NativeMemory.address(value), VALUE_BYTES);
      java.lang.ref.Reference.reachabilityFence(nativeName);
      Errors.check(calls, code, "read attribute " + name, LciException.NONE);
      result.attribute(name, NativeMemory.string(NativeMemory.address(value)));
    }
    java.lang.ref.Reference.reachabilityFence(value);
    return result.build();
  }

  private static Set<String> attributeNames(NativeCalls calls) {
    Set<String> names = new LinkedHashSet<>();
    for (int i = 0; ; i++) {
      long name = calls.attrName(i);
      if (name == 0) {
        return names;
      }
      names.add(NativeMemory.string(name));
    }
  }

  /**
   * What core this JVM has.
   *
   * @return the core
   */
  public static CoreInfo coreInfo() {
    return info(load());
  }

  private static CoreInfo info(NativeLibrary library) {
    return new CoreInfo(
        library.version(), library.source(), library.callsBy(), library.callsReason());
  }

  private static NativeLibrary load() {
    try {
      NativeLibrary library = NativeLibrary.load();
      if (TOLD.compareAndSet(false, true)) {
        tell(info(library), library.callsAreSecondBest());
      }
      return library;
    } catch (NativeLibraryException e) {
      throw new NativeLoadException(String.valueOf(e.getMessage()), e);
    }
  }

  /** One line about the core; louder where the calls are slower than they could be. */
  public static void tell(CoreInfo core, boolean secondBest) {
    LOG.atLevel(secondBest ? Level.INFO : Level.DEBUG)
        .log(
            "native core {} from {}, called by {}: {}",
            core.version(),
            core.source(),
            core.calls(),
            core.callsReason());
  }
}
