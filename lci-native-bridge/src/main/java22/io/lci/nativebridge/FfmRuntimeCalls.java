/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.invoke.MethodHandle;

/** The calls of {@link FfmCalls} about codes, attributes, runtimes and devices. */
abstract class FfmRuntimeCalls implements NativeCalls {

  // Codes
  private static final MethodHandle CODE_NAME = FfmLink.handle("lci_code_name");
  private static final MethodHandle LAST_ERROR = FfmLink.handle("lci_last_error");
  private static final MethodHandle LAST_ERROR_RANK = FfmLink.handle("lci_last_error_rank");
  private static final MethodHandle VERSION = FfmLink.handle("lci_version");

  // Attributes
  private static final MethodHandle ATTRS_CREATE = FfmLink.handle("lci_attrs_create");
  private static final MethodHandle ATTRS_FREE = FfmLink.handle("lci_attrs_free");
  private static final MethodHandle ATTRS_SET = FfmLink.handle("lci_attrs_set");
  private static final MethodHandle ATTRS_OWN = FfmLink.handle("lci_attrs_own");
  private static final MethodHandle ATTR_NAME = FfmLink.handle("lci_attr_name");
  private static final MethodHandle ATTR_DEFAULT = FfmLink.handle("lci_attr_default");
  private static final MethodHandle ATTR_HELP = FfmLink.handle("lci_attr_help");

  // Runtime
  private static final MethodHandle INPROC_CREATE = FfmLink.handle("lci_inproc_create");
  private static final MethodHandle INPROC_FREE = FfmLink.handle("lci_inproc_free");
  private static final MethodHandle RUNTIME_CREATE = FfmLink.handle("lci_runtime_create");
  private static final MethodHandle RUNTIME_CLOSE = FfmLink.handle("lci_runtime_close");
  private static final MethodHandle RUNTIME_RANK = FfmLink.handle("lci_runtime_rank");
  private static final MethodHandle RUNTIME_SIZE = FfmLink.handle("lci_runtime_size");
  private static final MethodHandle RUNTIME_ATTR = FfmLink.handle("lci_runtime_attr");
  private static final MethodHandle RUNTIME_PEER = FfmLink.handle("lci_runtime_peer");
  private static final MethodHandle RUNTIME_SNAPSHOT = FfmLink.handle("lci_runtime_snapshot");
  private static final MethodHandle RUNTIME_SNAPSHOT_PART =
      FfmLink.handle("lci_runtime_snapshot_part");
  private static final MethodHandle RUNTIME_LOG = FfmLink.handle("lci_runtime_log");
  private static final MethodHandle LOG_TAKE = FfmLink.handle("lci_log_take");
  private static final MethodHandle LOG_FREE = FfmLink.handle("lci_log_free");
  private static final MethodHandle COUNTER_NAME = FfmLink.handle("lci_counter_name");
  private static final MethodHandle INFO = FfmLink.handle("lci_info");
  private static final MethodHandle RUNTIME_ARENA = FfmLink.handle("lci_runtime_arena");
  private static final MethodHandle RUNTIME_PEER_ARENA = FfmLink.handle("lci_runtime_peer_arena");
  private static final MethodHandle THREAD_PIN = FfmLink.handle("lci_thread_pin");
  private static final MethodHandle RUNTIME_MAX_EAGER = FfmLink.handle("lci_runtime_max_eager");

  // Devices
  private static final MethodHandle RUNTIME_DEVICE = FfmLink.handle("lci_runtime_device");
  private static final MethodHandle PROGRESS = FfmLink.handle("lci_progress");

  @Override
  public final long codeName(int code) {
    try {
      return (long) CODE_NAME.invokeExact(code);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long lastError() {
    try {
      return (long) LAST_ERROR.invokeExact();
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int lastErrorRank() {
    try {
      return (int) LAST_ERROR_RANK.invokeExact();
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long version() {
    try {
      return (long) VERSION.invokeExact();
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int attrsCreate(long outAttrs) {
    try {
      return (int) ATTRS_CREATE.invokeExact(outAttrs);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final void attrsFree(long attrs) {
    try {
      ATTRS_FREE.invokeExact(attrs);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int attrsSet(long attrs, long name, long value) {
    try {
      return (int) ATTRS_SET.invokeExact(attrs, name, value);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int attrsOwn(long attrs, long name) {
    try {
      return (int) ATTRS_OWN.invokeExact(attrs, name);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long attrName(int index) {
    try {
      return (long) ATTR_NAME.invokeExact(index);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long attrDefault(int index) {
    try {
      return (long) ATTR_DEFAULT.invokeExact(index);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long attrHelp(int index) {
    try {
      return (long) ATTR_HELP.invokeExact(index);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int inprocCreate(int size, long outJob) {
    try {
      return (int) INPROC_CREATE.invokeExact(size, outJob);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final void inprocFree(long job) {
    try {
      INPROC_FREE.invokeExact(job);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeCreate(long attrs, long inprocJob, int inprocRank, long outRuntime) {
    try {
      return (int) RUNTIME_CREATE.invokeExact(attrs, inprocJob, inprocRank, outRuntime);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeClose(long runtime, int timeoutMillis) {
    try {
      return (int) RUNTIME_CLOSE.invokeExact(runtime, timeoutMillis);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeRank(long runtime) {
    try {
      return (int) RUNTIME_RANK.invokeExact(runtime);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeSize(long runtime) {
    try {
      return (int) RUNTIME_SIZE.invokeExact(runtime);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeAttr(long runtime, long name, long out, long outSize) {
    try {
      return (int) RUNTIME_ATTR.invokeExact(runtime, name, out, outSize);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimePeer(long runtime, int rank, long outState) {
    try {
      return (int) RUNTIME_PEER.invokeExact(runtime, rank, outState);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeSnapshot(long runtime, long out, int count) {
    try {
      return (int) RUNTIME_SNAPSHOT.invokeExact(runtime, out, count);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeSnapshotPart(long runtime, int device, long out, int count) {
    try {
      return (int) RUNTIME_SNAPSHOT_PART.invokeExact(runtime, device, out, count);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeLog(long runtime, long outLog) {
    try {
      return (int) RUNTIME_LOG.invokeExact(runtime, outLog);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int logTake(long log, long outLevel, long out, long outSize) {
    try {
      return (int) LOG_TAKE.invokeExact(log, outLevel, out, outSize);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final void logFree(long log) {
    try {
      LOG_FREE.invokeExact(log);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long counterName(int index) {
    try {
      return (long) COUNTER_NAME.invokeExact(index);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long info(long out, long outSize) {
    try {
      return (long) INFO.invokeExact(out, outSize);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeArena(long runtime, long outBase, long outLength) {
    try {
      return (int) RUNTIME_ARENA.invokeExact(runtime, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimePeerArena(long runtime, int rank, long outBase, long outLength) {
    try {
      return (int) RUNTIME_PEER_ARENA.invokeExact(runtime, rank, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeMaxEager(long runtime) {
    try {
      return (int) RUNTIME_MAX_EAGER.invokeExact(runtime);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int threadPin(int offset) {
    try {
      return (int) THREAD_PIN.invokeExact(offset);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int runtimeDevice(long runtime, int index, long outDevice) {
    try {
      return (int) RUNTIME_DEVICE.invokeExact(runtime, index, outDevice);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int progress(long device) {
    try {
      return (int) PROGRESS.invokeExact(device);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }
}
