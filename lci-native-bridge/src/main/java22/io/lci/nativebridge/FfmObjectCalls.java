/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.invoke.MethodHandle;

/** The calls of {@link FfmCalls} about what a runtime holds: objects, ports, memory, engines. */
abstract class FfmObjectCalls extends FfmRuntimeCalls {

  // Completion objects
  private static final MethodHandle QUEUE_CREATE = FfmLink.handle("lci_queue_create");
  private static final MethodHandle QUEUE_CREATE_KIND = FfmLink.handle("lci_queue_create_kind");
  private static final MethodHandle QUEUE_POP = FfmLink.handle("lci_queue_pop");
  private static final MethodHandle QUEUE_POP_MANY = FfmLink.handle("lci_queue_pop_many");
  private static final MethodHandle QUEUE_LENGTH = FfmLink.handle("lci_queue_length");
  private static final MethodHandle SYNCHRONIZER_CREATE = FfmLink.handle("lci_synchronizer_create");
  private static final MethodHandle SYNCHRONIZER_TEST = FfmLink.handle("lci_synchronizer_test");
  private static final MethodHandle COUNTER_CREATE = FfmLink.handle("lci_counter_create");
  private static final MethodHandle COUNTER_GET = FfmLink.handle("lci_counter_get");
  private static final MethodHandle COUNTER_SET = FfmLink.handle("lci_counter_set");
  private static final MethodHandle COMP_SIGNAL = FfmLink.handle("lci_comp_signal");
  private static final MethodHandle COMP_RESERVE = FfmLink.handle("lci_comp_reserve");
  private static final MethodHandle COMP_SIGNAL_RESERVED =
      FfmLink.handle("lci_comp_signal_reserved");
  private static final MethodHandle COMP_UNRESERVE = FfmLink.handle("lci_comp_unreserve");
  private static final MethodHandle COMP_ID = FfmLink.handle("lci_comp_id");
  private static final MethodHandle COMP_FREE = FfmLink.handle("lci_comp_free");
  private static final MethodHandle BUFFER_FREE = FfmLink.handle("lci_buffer_free");

  // Ports
  private static final MethodHandle PORT_OPEN = FfmLink.handle("lci_port_open");
  private static final MethodHandle PORT_REPLY_ROOM = FfmLink.handle("lci_port_reply_room");
  private static final MethodHandle PORT_NAME = FfmLink.handle("lci_port_name");
  private static final MethodHandle PORT_CLOSE = FfmLink.handle("lci_port_close");

  // Remote memory
  private static final MethodHandle MEMORY_ALLOCATE = FfmLink.handle("lci_memory_allocate");
  private static final MethodHandle MEMORY_FREE = FfmLink.handle("lci_memory_free");
  private static final MethodHandle MEMORY_REGISTER = FfmLink.handle("lci_memory_register");
  private static final MethodHandle MEMORY_DEREGISTER = FfmLink.handle("lci_memory_deregister");
  private static final MethodHandle MEMORY_HANDLE = FfmLink.handle("lci_memory_handle");
  private static final MethodHandle REMOTE_OPEN = FfmLink.handle("lci_remote_open");
  private static final MethodHandle REMOTE_CLOSE = FfmLink.handle("lci_remote_close");

  // Matching engines
  private static final MethodHandle ENGINE_CREATE = FfmLink.handle("lci_engine_create");
  private static final MethodHandle ENGINE_FREE = FfmLink.handle("lci_engine_free");

  // Posting through a device that no lane owns
  private static final MethodHandle POST = FfmLink.handle("lci_post");

  @Override
  public final int queueCreate(long runtime, int capacity, long outComp) {
    try {
      return (int) QUEUE_CREATE.invokeExact(runtime, capacity, outComp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int queueCreateKind(long runtime, int kind, int capacity, long outComp) {
    try {
      return (int) QUEUE_CREATE_KIND.invokeExact(runtime, kind, capacity, outComp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int queuePop(long queue, long outStatus) {
    try {
      return (int) QUEUE_POP.invokeExact(queue, outStatus);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int queuePopMany(long queue, long outStatuses, int count) {
    try {
      return (int) QUEUE_POP_MANY.invokeExact(queue, outStatuses, count);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long queueLength(long queue) {
    try {
      return (long) QUEUE_LENGTH.invokeExact(queue);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int synchronizerCreate(long runtime, int threshold, long outComp) {
    try {
      return (int) SYNCHRONIZER_CREATE.invokeExact(runtime, threshold, outComp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int synchronizerTest(long synchronizer, long outStatuses) {
    try {
      return (int) SYNCHRONIZER_TEST.invokeExact(synchronizer, outStatuses);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int counterCreate(long runtime, long outComp) {
    try {
      return (int) COUNTER_CREATE.invokeExact(runtime, outComp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final long counterGet(long counter) {
    try {
      return (long) COUNTER_GET.invokeExact(counter);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final void counterSet(long counter, long value) {
    try {
      COUNTER_SET.invokeExact(counter, value);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compSignal(long comp, long status) {
    try {
      return (int) COMP_SIGNAL.invokeExact(comp, status);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compReserve(long comp, long device) {
    try {
      return (int) COMP_RESERVE.invokeExact(comp, device);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compSignalReserved(long comp, long status) {
    try {
      return (int) COMP_SIGNAL_RESERVED.invokeExact(comp, status);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compUnreserve(long comp) {
    try {
      return (int) COMP_UNRESERVE.invokeExact(comp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compId(long comp) {
    try {
      return (int) COMP_ID.invokeExact(comp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int compFree(long comp) {
    try {
      return (int) COMP_FREE.invokeExact(comp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final void bufferFree(long buffer) {
    try {
      BUFFER_FREE.invokeExact(buffer);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int portOpen(
      long runtime, int number, long name, long comp, int messages, long bytes) {
    try {
      return (int) PORT_OPEN.invokeExact(runtime, number, name, comp, messages, bytes);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int portReplyRoom(long runtime, int port, int count, int bytes, long outId) {
    try {
      return (int) PORT_REPLY_ROOM.invokeExact(runtime, port, count, bytes, outId);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int portName(long runtime, int number, long name) {
    try {
      return (int) PORT_NAME.invokeExact(runtime, number, name);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int portClose(long runtime, int number) {
    try {
      return (int) PORT_CLOSE.invokeExact(runtime, number);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int memoryAllocate(long runtime, long bytes, long outMemory, long outAddress) {
    try {
      return (int) MEMORY_ALLOCATE.invokeExact(runtime, bytes, outMemory, outAddress);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int memoryFree(long memory) {
    try {
      return (int) MEMORY_FREE.invokeExact(memory);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int memoryRegister(long runtime, long address, long bytes, long outMemory) {
    try {
      return (int) MEMORY_REGISTER.invokeExact(runtime, address, bytes, outMemory);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int memoryDeregister(long memory) {
    try {
      return (int) MEMORY_DEREGISTER.invokeExact(memory);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int memoryHandle(long memory, long out, long outSize) {
    try {
      return (int) MEMORY_HANDLE.invokeExact(memory, out, outSize);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int remoteOpen(
      long runtime, int rank, long handle, long length, long outId, long outSize) {
    try {
      return (int) REMOTE_OPEN.invokeExact(runtime, rank, handle, length, outId, outSize);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int remoteClose(long runtime, long id) {
    try {
      return (int) REMOTE_CLOSE.invokeExact(runtime, id);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int engineCreate(long runtime, int number, int type, long makeKey, long argument) {
    try {
      return (int) ENGINE_CREATE.invokeExact(runtime, number, type, makeKey, argument);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int engineFree(long runtime, int number) {
    try {
      return (int) ENGINE_FREE.invokeExact(runtime, number);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public final int post(long device, long operation, long comp, long outStatus) {
    try {
      return (int) POST.invokeExact(device, operation, comp, outStatus);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }
}
