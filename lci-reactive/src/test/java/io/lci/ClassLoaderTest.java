/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.nativebridge.NativeLibrary;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import reactor.core.publisher.Mono;

/**
 * A class loader of its own that loads the library, as that of a web application does, and is
 * dropped: nothing of ours keeps it.
 */
class ClassLoaderTest {
  /** JNA's cleaner stays for 30 s after it had something to clean for the last time. */
  private static final Duration LIMIT = Duration.ofSeconds(240);

  /** The jars and folders of the classes that a program with this library has. */
  private static URL[] places() {
    return List.of(
            LciRuntime.class,
            NativeLibrary.class,
            com.sun.jna.Native.class,
            Mono.class,
            Publisher.class,
            Logger.class)
        .stream()
        .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
        .toArray(URL[]::new);
  }

  private static Object call(Class<?> type, String method, Object on) throws Exception {
    return type.getMethod(method).invoke(on);
  }

  private static WeakReference<ClassLoader> use(boolean wholeRuntime) throws Exception {
    try (URLClassLoader loader =
        new URLClassLoader(places(), ClassLoader.getPlatformClassLoader())) {
      Class<?> runtimes = loader.loadClass(LciRuntime.class.getName());
      assertThat(runtimes).isNotEqualTo(LciRuntime.class);
      Object info = call(runtimes, "coreInfo", null);
      if (wholeRuntime) {
        Object runtime = call(runtimes, "create", null);
        Object barrier = call(runtimes, "barrier", runtime);
        call(loader.loadClass(Mono.class.getName()), "block", barrier);
        call(runtimes, "close", runtime);
        // Its timer was Reactor's, whose threads are Reactor's
        call(loader.loadClass("reactor.core.scheduler.Schedulers"), "shutdownNow", null);
      }
      if (call(info.getClass(), "calls", info).equals("jna")) {
        unregister(loader);
      }
      return new WeakReference<>(loader);
    }
  }

  /** JNA holds a class that is mapped directly by a global reference until it is told. */
  private static void unregister(ClassLoader loader) throws Exception {
    Class<?> mapped = Class.forName("io.lci.nativebridge.JnaCalls", false, loader);
    loader
        .loadClass("com.sun.jna.Native")
        .getMethod("unregister", Class.class)
        .invoke(null, mapped);
  }

  @Test
  @Timeout(300)
  void isCollectedWhenNobodyUsesItAnyMore() throws Exception {
    List<WeakReference<ClassLoader>> dropped = List.of(use(false), use(true));
    await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(500))
        .untilAsserted(
            () -> {
              System.gc();
              assertThat(dropped).allMatch(loader -> loader.refersTo(null));
            });
  }
}
