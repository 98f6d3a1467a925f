/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci.h
 * The C ABI of the LCI core: the only header that other modules include.
 *
 * Rules that hold for every function:
 * - It returns an ::lci_code or nothing; values come back through out-parameters. It throws no exception, installs no
 *   signal handler, starts no thread, and never calls into the JVM. Function pointers are for native users only.
 * - It always checks its arguments, at little cost. After an error, lci_last_error() holds one line for the calling
 *   thread: what failed, operation, rank, device, code, and what to do.
 * - A thread must not end by pthread_exit() or pthread_cancel() inside a call, or inside a function that the core
 *   calls: that ends the process.
 * - Nothing progresses inside a post. Progress is explicit: lci_progress() or lci_lane_enter().
 * - All sizes are in bytes. All times are in nanoseconds of CLOCK_MONOTONIC unless the name says otherwise.
 * - A device, completion object, region, lane or graph belongs to the runtime that it was made with, and ends with it
 *   at the latest. A call that mixes objects of two runtimes answers LCI_ERR_ARGUMENT; only the blocking forms progress
 *   devices of any runtime. Numbers (ports, engines, pools, packets, remote ids) belong to one runtime too, but another
 *   runtime cannot detect a foreign number.
 * - Ranks that only call lci_progress() in a loop, on fewer processors than there are ranks, take turns of one time
 *   slice of the system each, so a round trip takes milliseconds. Wait with the blocking forms, park the lane, or give
 *   the processor away when nothing moves.
 */
#ifndef LCI_LCI_H_
#define LCI_LCI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LCI_API __attribute__((visibility("default")))

/**
 * This number changes whenever a structure, an offset or the meaning of a call changes. Bindings compare it when they
 * load the library.
 */
#define LCI_ABI_VERSION 5

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Codes
 * The answer of every call and the outcome of every descriptor. There are four categories: done, posted, retry, error.
 * @{
 */

typedef enum lci_code {
  /** The operation has ended. The completion object is not signalled; buffers are the caller's again. */
  LCI_DONE = 0,
  /** As LCI_DONE; the payload was copied into the backlog. */
  LCI_DONE_BACKLOG = 1,
  /** The operation was accepted; exactly one signal follows. The buffer stays in use until then. */
  LCI_POSTED = 2,
  /** As LCI_POSTED; the operation waits in the backlog. */
  LCI_POSTED_BACKLOG = 3,

  /** Nothing happened; post again. This is the generic form, and the value of an untouched status. */
  LCI_RETRY = 16,
  /** Another thread held a try-lock: post again soon. */
  LCI_RETRY_LOCK = 17,
  /** No packet was free: progress, and give packets back. It ends the pass of the device. */
  LCI_RETRY_NOPACKET = 18,
  /** The ring towards that rank is full: progress. Or the completion queue has no place for the signal: pop. */
  LCI_RETRY_NOMEM = 19,
  /** Operations to that rank wait in the backlog, and this one may not overtake them. */
  LCI_RETRY_BACKLOG = 20,
  /** The receiver has granted no credit: it is the slow party. Or it has no device of this index yet. */
  LCI_RETRY_NOCREDIT = 21,
  /** Too many operations are in flight on this lane; completions make room. */
  LCI_RETRY_PENDING = 22,
  /** An earlier descriptor of the same flow in this batch was refused; this one was not attempted. */
  LCI_RETRY_ORDER = 23,

  LCI_ERR_ARGUMENT = 32,       /**< A null handle or one of another runtime, a bad combination of flags, or an
                                    unknown operation. */
  LCI_ERR_RANK = 33,           /**< The rank is outside 0..size-1. */
  LCI_ERR_TAG = 34,            /**< The tag is outside what the operation can carry. */
  LCI_ERR_SIZE = 35,           /**< The size is outside what the payload form can carry. */
  LCI_ERR_PORT = 36,           /**< The port number is outside 1..32767, or the port is already open. */
  LCI_ERR_DEVICE = 37,         /**< The device index is not attached, or a lane owns the device. */
  LCI_ERR_PORT_CLOSED = 40,    /**< The receiver closed the port. */
  LCI_ERR_PORT_MISMATCH = 41,  /**< The receiver gave this port number another name. */
  LCI_ERR_PEER_FAILED = 42,    /**< The peer died. */
  LCI_ERR_PEER_LEFT = 43,      /**< The peer announced its departure. */
  LCI_ERR_TRUNCATED = 44,      /**< The message was longer than the receive buffer; the rest was dropped. */
  LCI_ERR_CANCELLED = 45,      /**< The operation was cancelled, or outstanding when the runtime closed. */
  LCI_ERR_CLOSED = 46,         /**< The runtime or object is closed. */
  LCI_ERR_EXHAUSTED = 47,      /**< A bound was met and retry was disallowed. */
  LCI_ERR_NO_MEMORY = 48,      /**< The system, or the container's limit, has no memory left. */
  LCI_ERR_TIMEOUT = 49,        /**< A deadline passed; the text names the missing ranks. */
  LCI_ERR_BUSY = 50,           /**< Another thread is inside this lane. */
  LCI_ERR_SIGNAL_CONTEXT = 51, /**< A handler called progress or a function that waits. */
  LCI_ERR_BOOTSTRAP = 52,      /**< The ranks could not find each other. */
  LCI_ERR_UNSUPPORTED = 53,    /**< It is not available on this machine or in this build; the text says why. */
  LCI_ERR_PROTOCOL = 54,       /**< A peer sent bytes that make no sense; it is treated as failed. */
  LCI_ERR_OVERRUN = 55,        /**< There were more signals than the synchronizer or queue has room for. */
  LCI_ERR_ATTRIBUTE = 56,      /**< The attribute name is unknown, or its value is out of range. */
  LCI_ERR_MEMORY_CLOSED = 57,  /**< The remote region was freed or deregistered, or its id was closed here. */
  LCI_ERR_NOT_PENDING = 58,    /**< There is nothing to cancel: no such receive waits at this device and engine. */
  LCI_ERR_RUN_NUMBER = 59,     /**< The last run of the graph failed: the next one needs a number. */
  LCI_ERR_FENCED = 60,         /**< This rank counts as failed for others, and takes part no more: every operation with
                                    another rank, and every receive, ends so. The log says which rank said it. */
  LCI_ERR_MISMATCH = 61,       /**< Members of a group called different collectives: see lci_context_failure(). */
  LCI_ERR_COLLECTIVE = 62      /**< A member gave a context up, see lci_context_revoke(); `size` of the status is the
                                    code that it gave. */
} lci_code;

/** With this a program exits that ends because of LCI_ERR_FENCED, so that its launcher can tell. */
#define LCI_EXIT_FENCED 74

/** Name of a code, for example "retry_nocredit"; "unknown" for anything else. Never null. */
LCI_API const char* lci_code_name(int code);
/** Text of the last error of the calling thread; empty if none. Valid until the thread's next failing call. */
LCI_API const char* lci_last_error(void);
/**
 * The rank that the last error of the calling thread is about, or -1. It serves calls that have no status to name the
 * rank, as when a job cannot be joined. Valid as lci_last_error().
 */
LCI_API int lci_last_error_rank(void);
/** Library version "major.minor.patch". */
LCI_API const char* lci_version(void);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Attributes
 * A set of named values. A value set here wins over one set by lci_global_set(), that one over environment
 * LCI_ATTR_<NAME IN CAPITALS> (read when a runtime is created), and that one over the default. An unknown name or a bad
 * value is an error.
 * @{
 */

typedef struct lci_attrs lci_attrs;
LCI_API int lci_attrs_create(lci_attrs** out);
LCI_API void lci_attrs_free(lci_attrs* attrs);
/** Sets one attribute from text. Answers LCI_ERR_ATTRIBUTE if the name is unknown or the value does not parse. */
LCI_API int lci_attrs_set(lci_attrs* attrs, const char* name, const char* value);
/**
 * Declares that environment LCI_ATTR_<NAME> is an option of the program's own, which the program reads itself. The core
 * then does not refuse it as unknown. @p name is in small letters, as the names of attributes are.
 */
LCI_API int lci_attrs_own(lci_attrs* attrs, const char* name);
/** Name of attribute @p index, or null past the end: a way to list all. */
LCI_API const char* lci_attr_name(uint32_t index);
/**
 * The text that @p attrs holds for @p name. LCI_ERR_ATTRIBUTE if it holds none, LCI_ERR_SIZE if @p out is too small.
 */
LCI_API int lci_attrs_get(const lci_attrs* attrs, const char* name, char* out, size_t out_size);
/** Default of attribute @p index as text. */
LCI_API const char* lci_attr_default(uint32_t index);
/** One sentence on attribute @p index. */
LCI_API const char* lci_attr_help(uint32_t index);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Runtime
 * @{ */

typedef struct lci_runtime lci_runtime;
/** A job whose ranks are runtimes of this process: bootstrap "inproc". */
typedef struct lci_inproc lci_inproc;

LCI_API int lci_inproc_create(uint32_t size, lci_inproc** out);
/** Drops the caller's reference; runtimes of the job hold their own. */
LCI_API void lci_inproc_free(lci_inproc* job);

/**
 * Creates a runtime and joins the job. The call blocks until every rank has arrived, bootstrap_timeout_ms has passed
 * (LCI_ERR_TIMEOUT, naming the missing ranks where that can be told), or a rank has died (LCI_ERR_PEER_FAILED,
 * lci_last_error_rank()). It is refused in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT).
 * @param attrs may be null: defaults and environment only. The runtime does not keep it.
 * @param job null: the bootstrap chain decides (file when LCI_JOB_DIR is set, tcp when LCI_ROOT is, pmix when
 *        PMIX_RANK is, pmi1 or pmi2 when PMI_FD is, else local: rank 0 of 1, which is an error where a launcher has
 *        started several processes).
 * @param inproc_rank rank in @p job; ignored when @p job is null.
 */
LCI_API int lci_runtime_create(const lci_attrs* attrs, lci_inproc* job, uint32_t inproc_rank, lci_runtime** out);
/**
 * Leaves the job and frees everything. With @p timeout_ms > 0 the close is graceful: it drives progress of its devices
 * until everything posted has left, and then announces the departure: peers see LEFT. If the time is over before, or is
 * 0, peers see FAILED. Outstanding operations are signalled LCI_ERR_CANCELLED before their objects go. The call never
 * hangs. Lanes must be freed first. It is refused in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT), because it
 * would wait for their device.
 */
LCI_API int lci_runtime_close(lci_runtime* runtime, uint32_t timeout_ms);
/** No rank: the answer when there is no such runtime. */
#define LCI_NO_RANK 0xFFFFFFFFu
/** Rank in the job; null: that of the global runtime, or ::LCI_NO_RANK if there is none. */
LCI_API uint32_t lci_runtime_rank(const lci_runtime* runtime);
/** Ranks in the job; null: as lci_runtime_rank(), but 0 if there is none. */
LCI_API uint32_t lci_runtime_size(const lci_runtime* runtime);
/**
 * The effective value of an attribute as text (after clamping), or a value that follows from the attributes: max_eager,
 * max_inline, max_tag, max_signal_tag, max_port, max_engine, bootstrap_used.
 */
LCI_API int lci_runtime_attr(const lci_runtime* runtime, const char* name, char* out, size_t out_size);
/** All effective values as a new set, to be read, or to create another runtime like this one. */
LCI_API int lci_runtime_attrs(const lci_runtime* runtime, lci_attrs** out);

/** FENCED: this rank is cut off from it, see LCI_ERR_FENCED. */
typedef enum lci_peer_state {
  LCI_PEER_ALIVE = 0,
  LCI_PEER_LEFT = 1,
  LCI_PEER_FAILED = 2,
  LCI_PEER_FENCED = 3
} lci_peer_state;
LCI_API int lci_runtime_peer(const lci_runtime* runtime, uint32_t rank, int32_t* out_state);

/**
 * Copies the counters, all at once, without delaying the threads that count; counters are always on.
 * lci_counter_name(i) names entry i and lci_counter_help(i) explains it.
 *
 * When nothing is under way, these equations hold at each rank (with X for am, send, recv, barrier, put, get and
 * atomic):
 * - sum of operations_X_posted = signals + signals_dropped + receives_pending: everything posted is signalled once;
 * - packets_get = packets_put + packets_held + packets in the caches of lanes (`packet_count` of each), and packets_out
 *   = 0: no packet is lost;
 * - backlog_push = backlog_pop + backlog_depth, and backlog_depth = 0;
 * - statuses_pushed - statuses_popped = statuses that lie in queues;
 * - sends_pending = 0, late_wakes = 0, protocol_errors = 0.
 * @return how many counters there are; at most @p count are written.
 */
LCI_API uint32_t lci_runtime_snapshot(const lci_runtime* runtime, uint64_t* out, uint32_t count);
/** Name of counter @p index, or null past the end. */
LCI_API const char* lci_counter_name(uint32_t index);
/**
 * One sentence on counter @p index, or null past the end. Counters whose sentence says "now" are gauges; the others
 * only grow.
 */
LCI_API const char* lci_counter_help(uint32_t index);
/** Stands for no device. */
#define LCI_NO_DEVICE 0xFFFFFFFFu
/**
 * A part of lci_runtime_snapshot(): the counts of device @p device, or with ::LCI_NO_DEVICE the counts that belong to
 * no device (memory of regions, statuses of queues, peers, parking of lanes). The parts add up to the whole, in 64
 * bits. The device that does something counts it. A receive may be posted on one device and matched by another, so for
 * pending or stored items only the sum is meaningful, and a part may be below 0.
 * @return as lci_runtime_snapshot(); 0 if there is no such device.
 */
LCI_API uint32_t lci_runtime_snapshot_part(const lci_runtime* runtime, uint32_t device, uint64_t* out, uint32_t count);

/**
 * Describes this machine in lines of "key<TAB>value": version, transports and why one is unavailable, memlock limit,
 * memory available, membarrier, process_vm_readv, cpu count. Needs no runtime.
 * @return bytes needed including the terminator.
 */
LCI_API size_t lci_info(char* out, size_t out_size);

/** Levels of the log, see lci_log_take(). Lines up to the level that attribute log_level names are written. */
typedef enum lci_log_level {
  LCI_LOG_ERROR = 0,
  LCI_LOG_WARN = 1, /**< The default. */
  LCI_LOG_STATUS = 2,
  LCI_LOG_INFO = 3,
  LCI_LOG_DEBUG = 4,
  LCI_LOG_TRACE = 5
} lci_log_level;

/** The log of a runtime. */
typedef struct lci_log lci_log;
/**
 * A reference to the runtime's log, to be freed with lci_log_free(). It outlives the runtime, so the lines that closing
 * writes can be taken afterwards.
 */
LCI_API int lci_runtime_log(lci_runtime* runtime, lci_log** out);
/** Gives a reference back; null is allowed. */
LCI_API void lci_log_free(lci_log* log);
/**
 * Takes the oldest line that attribute log_keep has kept, so that callers can route it into a log of their own: the
 * core calls nobody. Lines are "rank:host:process:thread:seconds:file:function:line level [tag] text". The attributes
 * log_* say which lines are written, up to which level, and where else they go; they are read from environment
 * LCI_LOG_* as well. When lines were dropped because nobody took them, a line of tag "log" comes first and says how
 * many. Any thread.
 * @param out_level ::lci_log_level
 * @param out at most @p out_size bytes with the terminator; a longer line (at most 1,023 bytes) is cut.
 * @return LCI_DONE, or LCI_RETRY when there is no line.
 */
LCI_API int lci_log_take(lci_log* log, int32_t* out_level, char* out, size_t out_size);

/**
 * Base and reserved length of this rank's shared arena. Packets (see ::lci_layout_id LCI_LAYOUT_PACKET_*) lie at base +
 * 64 * handle. The range is never unmapped while the process lives: on close it becomes anonymous.
 */
LCI_API int lci_runtime_arena(const lci_runtime* runtime, uint64_t* out_base, uint64_t* out_length);
/**
 * Base and reserved length of the arena of @p rank, where its packets lie; for messages that are read where they lie,
 * see lci_lane_zero_copy(). The first call for a rank maps its arena: LCI_ERR_NO_MEMORY when there is no room for that.
 */
LCI_API int lci_runtime_peer_arena(lci_runtime* runtime, uint32_t rank, uint64_t* out_base, uint64_t* out_length);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Global runtime
 * One runtime for a whole process, for programs that want no handle in every call. In all functions but those of lanes
 * and lci_runtime_close(), null in place of a runtime means the global one, and null in place of a device its device 0.
 * It is a thin layer: the process has no other state. Inits are counted, and the last lci_global_fini() closes the
 * runtime. Any thread; nothing else may use the runtime while it is being closed.
 * @{
 */

/**
 * The first call creates the runtime, as lci_runtime_create() by the bootstrap chain. Each further call returns the
 * same runtime, ignores its attributes, and logs a warning if it brought any. It is refused in handlers, as creating
 * and closing runtimes is.
 * @param attrs,out may be null.
 */
LCI_API int lci_global_init(const lci_attrs* attrs, lci_runtime** out);
/**
 * Undoes one lci_global_init(). The last one closes the runtime as lci_runtime_close() does, and changes nothing if
 * that fails. Without an init: LCI_ERR_ARGUMENT. Refused in handlers (LCI_ERR_SIGNAL_CONTEXT).
 */
LCI_API int lci_global_fini(uint32_t timeout_ms);
/** The global runtime; null when there is none. */
LCI_API lci_runtime* lci_global_runtime(void);
/** Rank and size in the job, or -1 when there is no global runtime. They never change while the runtime lives. */
LCI_API int32_t lci_global_rank(void);
LCI_API int32_t lci_global_size(void);
/**
 * Sets an attribute for every runtime that the process creates from now on, unless the runtime's own attributes say
 * otherwise. A null value removes the setting. Needs no runtime.
 */
LCI_API int lci_global_set(const char* name, const char* value);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Threads
 * @{ */

/**
 * Binds the calling thread to one of the CPUs that it may use at this moment: number @p offset of them, counted from 0
 * in the order of CPU numbers. Offsets mean the same inside a container or under taskset, where numbers of CPUs do not.
 * The thread may then use that CPU alone, so a second call knows offset 0 only.
 * @return LCI_ERR_ARGUMENT when there are not so many; the text says how many there are.
 */
LCI_API int lci_thread_pin(uint32_t offset);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Devices
 * Device k of a rank talks to device k of every other rank. A runtime is created with as many devices as the other
 * ranks, and can add some later. None is removed before the runtime closes. Any thread may use a device, through
 * try-locks (retry_lock); or the device belongs to one lane, which then needs no atomic read-modify-write for a
 * message.
 *
 * Progress every device as long as others may talk to it: only device k takes the messages that come to device k, and
 * the answers to its own messages. A device that nobody progresses keeps the credit that it holds at ports; the rank's
 * other devices go on without that credit. Devices of the same pool that have run dry take the packets that come back
 * to it.
 * @{
 */
typedef struct lci_device lci_device;
/** Most devices of a runtime. */
#define LCI_MAX_DEVICES 128u
/**
 * Device @p index of the runtime: 0 .. attribute "devices" - 1, the same number on all ranks, and those that
 * lci_device_add() added since. Any other index: LCI_ERR_DEVICE.
 */
LCI_API int lci_runtime_device(lci_runtime* runtime, uint32_t index, lci_device** out);
/**
 * Adds a device to a runtime that is running. It has the next index, belongs to no lane, takes packets of pool 0, and
 * lives until the runtime closes. Any thread; other devices are not held up.
 *
 * The device is of this rank alone. Its messages go to the device of the same index at the peer. Until the peer has
 * that device, messages, signals, and puts, gets and atomic operations that need the peer's help answer
 * LCI_RETRY_NOCREDIT, or wait in the backlog. Nothing is lost. When the peer adds the device, the next pass tells of
 * it: the lane gets LCI_RECORD_WRITABLE for each flow that was refused, its generation word moves, and the backlog goes
 * out. If the peer dies or leaves first, later posts and the backlog end with LCI_ERR_PEER_FAILED or LCI_ERR_PEER_LEFT.
 * Puts, gets and atomic operations on memory at hand do not need the peer's device.
 *
 * Progress the device from now on, as any other: peers that have a device of its index may talk to it.
 *
 * @return LCI_DONE; LCI_ERR_EXHAUSTED if there are ::LCI_MAX_DEVICES; LCI_ERR_NO_MEMORY; LCI_ERR_SIGNAL_CONTEXT in
 *   handlers and custom objects. After an error nothing was added, and @p out is null.
 */
LCI_API int lci_device_add(lci_runtime* runtime, lci_device** out);
/** Reads an attribute: "uid" (the device's index) or "owner" (lane, any). */
LCI_API int lci_device_attr(const lci_device* device, const char* name, char* out, size_t out_size);
/** Moves control traffic, backlog and arrivals. Answers LCI_DONE if anything moved, else LCI_RETRY. */
LCI_API int lci_progress(lci_device* device);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Completion objects
 * An object belongs to the runtime that it was created with, and ends with it. Posts, ports and graphs of another
 * runtime answer LCI_ERR_ARGUMENT.
 * @{
 */

/**
 * The status that a completion object receives. For a local completion, rank is the peer; for an arrival, the source. A
 * status that nobody filled reads as retry if it was initialized with LCI_STATUS_INIT.
 */
typedef struct lci_status {
  int32_t code;          /**< LCI_DONE or an error. */
  uint32_t rank;         /**< Peer or source. */
  uint64_t tag;          /**< As posted, or as received. An atomic operation that ended with LCI_DONE: the value of the
                              word before. */
  void* buffer;          /**< Arrivals: owned by the receiver, see lci_arrival_free(). Local: as posted. */
  uint64_t size;         /**< Bytes moved. With LCI_ERR_TRUNCATED: bytes of the whole message, of which the receive
                              buffer holds as many as it has room for. */
  uint64_t user_context; /**< As posted; 0 for arrivals. */
  uint32_t port;         /**< Arrivals: the port; else 0. */
  uint32_t packet;       /**< Arrivals delivered in their packet: the packet's number, see lci_comp_zero_copy(); else
                              0. */
} lci_status;
/** A status that nobody has filled: retry, of no rank. */
#define LCI_STATUS_INIT \
  { LCI_RETRY, 0xFFFFFFFFu, 0, NULL, 0, 0, 0, 0 }

typedef struct lci_comp lci_comp;
typedef void (*lci_handler_fn)(const lci_status* status, void* argument);

typedef enum lci_queue_kind {
  LCI_QUEUE_DEFAULT = 0, /**< The kind that the attribute cq_type names. */
  /**
   * A fixed array of cells with tickets. An operation holds a place in the queue from its post until its status is
   * popped, so no signal is lost. A post that finds no place answers LCI_RETRY_NOMEM, or LCI_ERR_EXHAUSTED where retry
   * is not allowed. An operation that may be posted, such as a put, needs its place also when it is done at once.
   * lci_graph_start() needs a place as well. lci_comp_signal() answers LCI_ERR_OVERRUN when the array is full. A
   * message that comes to a port and finds no place is discarded, and counted as arrivals_overrun; the first one of an
   * opening is logged.
   */
  LCI_QUEUE_ARRAY = 1,
  LCI_QUEUE_LCRQ = 2 /**< Linked rings, bounded by memory alone; x86-64 only. */
} lci_queue_kind;

/** Multi-producer multi-consumer queue of the default kind. */
LCI_API int lci_queue_create(lci_runtime* runtime, uint32_t capacity, lci_comp** out);
/**
 * As lci_queue_create(), of a given kind. An unbounded queue behind a port does not make the port unbounded: the port's
 * own capacity limits the stored messages. Completions of the rank's own operations are stored without a limit.
 * @param kind ::lci_queue_kind. LCI_ERR_UNSUPPORTED where the processor has no such queue; the attribute cq_type falls
 *        back to array there.
 * @param capacity of an array, at most 2^30; 0: attribute queue_capacity. LCRQ ignores it.
 */
LCI_API int lci_queue_create_kind(lci_runtime* runtime, int kind, uint32_t capacity, lci_comp** out);
/**
 * Answers LCI_DONE and a status, or LCI_RETRY when the queue is empty; the code of the status is then LCI_RETRY, too.
 * It never blocks and never progresses.
 */
LCI_API int lci_queue_pop(lci_comp* queue, lci_status* out);
/** Pops up to @p count statuses; returns how many. */
LCI_API uint32_t lci_queue_pop_many(lci_comp* queue, lci_status* out, uint32_t count);
LCI_API uint64_t lci_queue_length(const lci_comp* queue);
/** Creates a synchronizer, which becomes ready after @p threshold signals. */
LCI_API int lci_synchronizer_create(lci_runtime* runtime, uint32_t threshold, lci_comp** out);
/**
 * Answers LCI_DONE once per firing, copies threshold statuses in order of arrival (@p out may be null), and resets the
 * synchronizer; else LCI_RETRY. LCI_ERR_OVERRUN if more signals than the threshold came since the last firing was
 * taken.
 */
LCI_API int lci_synchronizer_test(lci_comp* synchronizer, lci_status* out);
LCI_API int lci_counter_create(lci_runtime* runtime, lci_comp** out);
LCI_API uint64_t lci_counter_get(const lci_comp* counter);
LCI_API void lci_counter_set(lci_comp* counter, uint64_t value);
/**
 * Creates a handler. The thread that progresses calls the function; it must be short and thread-safe. The status's
 * buffer is valid only during the call, and may only be read: it may be the sender's own memory, see LCI_FLAG_NETWORK.
 * The function may post with retry disallowed; it may not progress.
 */
LCI_API int lci_handler_create(lci_runtime* runtime, lci_handler_fn function, void* argument, lci_comp** out);
/**
 * A user's own kind of completion object. It follows the rules of a handler: any thread that progresses calls it,
 * possibly several at once; it is short, does not progress, and uses no blocking form. An exception is answered as
 * LCI_ERR_ARGUMENT and goes no further.
 * @return LCI_DONE when it took the signal, or an error, which refuses it: the arrival is then discarded, and its
 *         sender gets its credit back.
 */
typedef int (*lci_custom_fn)(const lci_status* status, void* argument);
/**
 * Creates a custom completion object, for operations and for ports, as any other object.
 * @param stores 0: the status's buffer is valid only during the call and may only be read, and senders need no credit.
 *        Not 0: an arrival that was taken belongs to the object (lci_buffer_free()) and counts against its port's
 *        capacity until lci_custom_taken().
 */
LCI_API int lci_custom_create(lci_runtime* runtime, lci_custom_fn function, void* argument, int stores, lci_comp** out);
/**
 * Tells that the user took an arrival out of a storing custom object: its room goes back to its sender. Call it once
 * for each arrival, before its buffer is freed, while the runtime lives. The signal of a put or get has no payload,
 * only a record, which is freed here; @p status says null then. Queues and synchronizers do this by themselves. Any
 * thread.
 */
LCI_API int lci_custom_taken(lci_comp* custom, lci_status* status);
/** Signals any object with a done or error status. */
LCI_API int lci_comp_signal(lci_comp* comp, const lci_status* status);
/**
 * Reserves a place for one signal that the caller gives later, as a post does for its operation. It serves callers that
 * pass on the ends of operations. While places are reserved, lci_comp_free() answers LCI_ERR_BUSY. Each reservation
 * ends by lci_comp_signal_reserved() or lci_comp_unreserve(). Any thread.
 * @param device the device that tries again: when there may be a place, its generation word moves, and a lane that
 *        sleeps over it is woken. Null: nobody is told.
 * @return LCI_DONE; LCI_RETRY_NOMEM where an array queue has no place; LCI_ERR_ARGUMENT for a device of another
 *         runtime.
 */
LCI_API int lci_comp_reserve(lci_comp* comp, lci_device* device);
/**
 * As lci_comp_signal(), in a place that the caller has reserved. The place is free again also after an error, and an
 * array queue never answers LCI_ERR_OVERRUN. LCI_ERR_ARGUMENT where nothing is reserved.
 */
LCI_API int lci_comp_signal_reserved(lci_comp* comp, const lci_status* status);
/** Gives a reserved place back. LCI_ERR_ARGUMENT where nothing is reserved. */
LCI_API int lci_comp_unreserve(lci_comp* comp);
/**
 * Reads an attribute: "comp_type" (cq, sync, counter, handler, custom, graph) or "id"; of a queue "cq_type" and
 * "queue_capacity" (as much as it can hold); of a synchronizer "sync_threshold".
 */
LCI_API int lci_comp_attr(const lci_comp* comp, const char* name, char* out, size_t out_size);
/** Identifier of the object in descriptors (LCI_FLAG_COMP) and records. */
LCI_API uint32_t lci_comp_id(const lci_comp* comp);
/**
 * Frees the object, and the arrivals in it that nobody took. An object that is not freed ends with its runtime.
 * LCI_ERR_BUSY while it is bound to an open port or a pending operation. When the call returns, no signal of an
 * operation or of a closed port is inside the object, nor in its function. The call waits for that; in a function of a
 * handler or custom object it answers LCI_ERR_BUSY instead. The caller itself must end its calls of lci_comp_signal()
 * first.
 */
LCI_API int lci_comp_free(lci_comp* comp);
/**
 * Frees the buffer of an arrival popped from a queue or synchronizer. Null is allowed. It does not serve arrivals in
 * their packet, and an address does not show which they are: lci_arrival_free() frees every arrival.
 */
LCI_API void lci_buffer_free(void* buffer);
/**
 * Lets @p comp receive active messages in the packets in which they travelled: nothing is copied at the receiver. Free
 * them with lci_arrival_free(); they count against their port's capacity until then. The library still copies short
 * messages, long ones (rendezvous), messages that their sender had no credit for (the first message, say), and messages
 * that come while a good part of the sender's packets is held here already. `packet` of the status tells which case it
 * is. The memory is the sender's: it may be read and written until it is freed, also when the sender has gone.
 *
 * Call it before a port is opened on the object. LCI_ERR_ARGUMENT for objects that do not store arrivals.
 */
LCI_API int lci_comp_zero_copy(lci_comp* comp);
/**
 * Frees the memory of an arrival, whether it lies in a packet or in memory of its own. Any thread, until the runtime
 * closes. Buffer and packet of @p status are null afterwards, and the call may be repeated. A status that is no arrival
 * is left alone. LCI_ERR_ARGUMENT for a packet that was freed already, through a copy of the status; and for an arrival
 * of another runtime, whose @p status is left as it is.
 */
LCI_API int lci_arrival_free(lci_runtime* runtime, lci_status* status);

/**
 * The source of memory for messages that are given to native users: two functions as malloc and free. The library keeps
 * a header of its own in front of each message. Any thread that progresses or calls lci_buffer_free() calls them; they
 * may not call the library. Null from `allocate` means what it means from malloc.
 */
typedef struct lci_allocator {
  void* (*allocate)(size_t bytes, void* argument);
  void (*deallocate)(void* memory, void* argument);
  void* argument;
} lci_allocator;
/**
 * From now on the buffers of arrivals come from @p allocator; null: from malloc, as at first. Each buffer goes back to
 * the allocator that it came from, so @p allocator must stay valid until the last of them was freed. There is one
 * allocation for every delivered message that is stored; lanes have memory of their own. Any thread.
 */
LCI_API int lci_runtime_set_allocator(lci_runtime* runtime, const lci_allocator* allocator);
/** The allocator that was set; null for malloc. */
LCI_API const lci_allocator* lci_runtime_allocator(const lci_runtime* runtime);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Blocking forms
 * For native threads. Each looks, progresses the devices that the caller names, and looks again; when nothing moves it
 * gives the processor away and sleeps in short steps. It progresses no other device: name the devices that the
 * operations were posted on, or none (null, 0) if other threads progress. The devices may be of several runtimes, so
 * that one thread can drive several ranks. Refused in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT) and for
 * devices of lanes (LCI_ERR_DEVICE).
 * @{
 */

/** Timeout of a wait without an end. */
#define LCI_FOREVER 0xFFFFFFFFu

/** As lci_queue_pop(), but waits for a status. LCI_ERR_TIMEOUT after @p timeout_ms; 0 progresses once. */
LCI_API int lci_queue_wait(lci_comp* queue, lci_device* const* devices, uint32_t device_count, uint32_t timeout_ms,
                           lci_status* out);
/** Waits for @p count statuses. @p out_popped: how many are in @p out, whatever the answer. */
LCI_API int lci_queue_wait_many(lci_comp* queue, lci_device* const* devices, uint32_t device_count, uint32_t timeout_ms,
                                lci_status* out, uint32_t count, uint32_t* out_popped);
/** As lci_synchronizer_test(), but waits for the firing. When several threads wait, one of them gets it. */
LCI_API int lci_synchronizer_wait(lci_comp* synchronizer, lci_device* const* devices, uint32_t device_count,
                                  uint32_t timeout_ms, lci_status* out);
/**
 * Answers LCI_DONE when everything that was posted on the device is complete, receives included, its backlog is empty,
 * and no long message is arriving; else LCI_RETRY, also while another thread is inside the device. It never progresses.
 * A receive that nothing matches keeps the answer at retry: cancel it.
 */
LCI_API int lci_test_drained(lci_device* device);
/** Progresses the device until lci_test_drained() says done, or LCI_ERR_TIMEOUT. */
LCI_API int lci_wait_drained(lci_device* device, uint32_t timeout_ms);
/** Progresses the device until lci_device_fence_passed() says done, or LCI_ERR_TIMEOUT. */
LCI_API int lci_wait_fence(lci_device* device, uint64_t fence, uint32_t timeout_ms);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Groups
 * A group is some ranks of the job in a given order: its members are numbered 0 to n-1. A context is an order of calls
 * of a group, on one device; a program that wants several calls under way independently of each other has several
 * contexts. Making and freeing them takes no communication: each member does it with the same arguments, at any time. A
 * call that meets a member whose context is not there yet waits for it.
 *
 * A call ends with an error on every member that has not completed it if one member calls something else
 * (LCI_ERR_MISMATCH), gives the context up (LCI_ERR_COLLECTIVE), or dies (LCI_ERR_PEER_FAILED). If a member leaves, the
 * calls end that it has not posted (LCI_ERR_PEER_LEFT). Later calls of that context fail at once; earlier ones go on.
 * Not every member needs to see the error: some may have completed the call before.
 *
 * A graceful close of the runtime waits for calls under way, within its time.
 * @{
 */

typedef struct lci_group lci_group;
typedef struct lci_context lci_context;

/** A group as lci_group_info() tells it. */
typedef struct lci_group_state {
  uint64_t id;   /**< The same on all members. */
  uint32_t size; /**< Members. */
  uint32_t own;  /**< This rank's number among them. */
} lci_group_state;

/**
 * The calls of a group. Each says how many bytes `in` and `out` of ::lci_collective have, with n members
 * and elements of the given type; a block is `count` elements. Where a list of counts is given, block i has `counts[i]`
 * elements instead, and blocks lie behind one another.
 */
typedef enum lci_collective_kind {
  LCI_COLLECTIVE_BARRIER = 1, /**< Ends when every member has posted it. Without memory, type and count. */
  /** `count` elements of the root go to all. They lie in `out`, at the root, too; `in` is null. */
  LCI_COLLECTIVE_BROADCAST = 2,
  LCI_COLLECTIVE_REDUCE = 3,         /**< One block of each member is combined into one block at the root. */
  LCI_COLLECTIVE_ALLREDUCE = 4,      /**< The same, and all members get the result, equal to the last bit. */
  LCI_COLLECTIVE_REDUCE_SCATTER = 5, /**< n blocks of each member are combined; member i gets block i. */
  LCI_COLLECTIVE_ALLGATHER = 6,      /**< One block of each member; all get n blocks, in the order of members. */
  LCI_COLLECTIVE_GATHER = 7,         /**< The same, for the root alone. */
  LCI_COLLECTIVE_SCATTER = 8,        /**< n blocks of the root; member i gets block i. */
  LCI_COLLECTIVE_ALLTOALL = 9,       /**< n blocks of each; member i gets block i of each, in the order of members. */
  LCI_COLLECTIVE_SCAN = 10,          /**< Member i gets the blocks of members 0 to i combined. */
  /** Member i gets the blocks of members 0 to i-1 combined. `out` of member 0 is left as it is. */
  LCI_COLLECTIVE_EXCLUSIVE_SCAN = 11,
  /** Blocks for some members and from some. */
  LCI_COLLECTIVE_NEIGHBOURS = 12,
  LCI_COLLECTIVE_AGREE = 13 /**< Members agree, even if some die meanwhile: see lci_post_agree(). */
} lci_collective_kind;

/** How a collective is done. LCI_ERR_ARGUMENT if it cannot serve the call. */
typedef enum lci_algorithm {
  LCI_ALGORITHM_AUTO = 0,          /**< The core chooses, by what all members know alike. */
  LCI_ALGORITHM_DISSEMINATION = 1, /**< Barrier. */
  LCI_ALGORITHM_LINEAR = 2,        /**< Gather, scatter: each with the root. */
  /**
   * Broadcast, reduce, gather, scatter: a tree. A gather or scatter has it only if all members name it, and only
   * without a list of counts: the core cannot choose it, since the root alone knows whether there is one.
   */
  LCI_ALGORITHM_BINOMIAL = 3,
  LCI_ALGORITHM_KNOMIAL = 4,             /**< Broadcast: a tree in which three are told at a time. */
  LCI_ALGORITHM_CHAIN = 5,               /**< Broadcast: from one to the next, in segments. */
  LCI_ALGORITHM_SCATTER_ALLGATHER = 6,   /**< Broadcast: a part to each, and then a ring. */
  LCI_ALGORITHM_RECURSIVE_DOUBLING = 7,  /**< Allreduce, allgather (2^k members), scan. */
  LCI_ALGORITHM_RABENSEIFNER = 8,        /**< Reduce, allreduce (2^k members): recursive halving, then a gather. */
  LCI_ALGORITHM_RING = 9,                /**< Allreduce, reduce-scatter, allgather. */
  LCI_ALGORITHM_RECURSIVE_HALVING = 10,  /**< Reduce-scatter; 2^k members. */
  LCI_ALGORITHM_PAIRWISE = 11,           /**< Reduce-scatter, alltoall. */
  LCI_ALGORITHM_BRUCK = 12,              /**< Allgather; alltoall without a list of counts. */
  LCI_ALGORITHM_NEIGHBOUR_EXCHANGE = 13, /**< Allgather; an even number of members. */
  LCI_ALGORITHM_DIRECT = 14,             /**< Neighbours. */
  /**
   * Barrier: each member looks at a line of each other one, in its memory. Up to 16 members on one host, where ranks
   * read each other's memory.
   */
  LCI_ALGORITHM_ARENA_LINE = 15,
  LCI_ALGORITHM_ARENA_SLOTS = 16, /**< Allreduce, allgather: the same with up to 1 KiB of each member. */
  /**
   * Barrier, broadcast, reduce, allreduce: within each host, among one member of each, and within each host again.
   * Some members share a host, and some are on others. Also allgather without a list of counts, if the members of each
   * host follow each other in the group.
   */
  LCI_ALGORITHM_HIERARCHICAL = 17
} lci_algorithm;

/** A member says this of a call. All of it must be equal on all members. */
typedef struct lci_call {
  uint8_t kind; /**< ::lci_collective_kind; a barrier leaves the rest 0, but an algorithm other than dissemination. */
  uint8_t op;   /**< ::lci_reduce_op, or 0. */
  uint8_t type; /**< ::lci_data_type */
  uint8_t algorithm;
  uint32_t root; /**< A member. */
  uint64_t segment_bytes;
  /** Elements; in a gather, a scatter, neighbours, or an alltoall with counts, those between the two members. */
  uint64_t count;
  uint64_t hash; /**< The list of counts, hashed, where every member has all of it. */
} lci_call;

/** Why a context has failed. */
typedef struct lci_failure {
  uint64_t sequence; /**< The first call that failed. */
  int32_t code;
  uint32_t rank;     /**< The rank because of which it failed. */
  uint32_t cause;    /**< LCI_ERR_COLLECTIVE: the code that this rank gave. */
  uint32_t ranks[2]; /**< LCI_ERR_MISMATCH: two ranks that differ, */
  uint32_t reserved;
  lci_call calls[2]; /**< and what each of them said. */
} lci_failure;

/**
 * Makes a group, or gives the one that this rank has made of the same arguments. Any thread.
 * @param ranks of the job, in the order of their numbers as members. This rank is one of them, and none is there twice.
 * @param key groups of the same members with different keys are different groups.
 * @return LCI_DONE; LCI_ERR_RANK; LCI_ERR_ARGUMENT: no rank, one twice, or not this one.
 */
LCI_API int lci_group_create(lci_runtime* runtime, const uint32_t* ranks, uint32_t count, uint64_t key,
                             lci_group** out);
/** Each lci_group_create() is ended by one call of this. Contexts of the group go on. */
LCI_API int lci_group_free(lci_group* group);
LCI_API int lci_group_info(const lci_group* group, lci_group_state* out);
/** The rank of a member. LCI_ERR_RANK if there is no such member. */
LCI_API int lci_group_rank(const lci_group* group, uint32_t member, uint32_t* out);

/**
 * Makes a context, or gives the one that this rank has of the same arguments. Any thread. It takes about 4 KiB for each
 * member.
 * @param key contexts of a group with different keys are different contexts.
 * @param device number of the device that its calls are posted on; the same on all members.
 * @return LCI_DONE; LCI_ERR_DEVICE; LCI_ERR_EXHAUSTED beyond 1,024 contexts of a rank; LCI_ERR_NO_MEMORY.
 */
LCI_API int lci_context_create(lci_group* group, uint64_t key, uint32_t device, lci_context** out);
/**
 * Each lci_context_create() is ended by one call of this. LCI_ERR_BUSY if it is the last and calls are under way. A
 * context that is made again later, on all members, is another one: its calls begin with number 0.
 */
LCI_API int lci_context_free(lci_context* context);
/**
 * As lci_context_free(), for a context whose arguments do not come again on any member: nothing is kept of it. A rank
 * keeps how often others were freed, some 100 bytes for each. If there are several handles, the last one decides.
 */
LCI_API int lci_context_forget(lci_context* context);
/** The id for LCI_OP_COLLECTIVE; the same on all members. */
LCI_API int lci_context_id(const lci_context* context, uint64_t* out);
/** Why the context failed first. LCI_RETRY if it has not. Any thread. */
LCI_API int lci_context_failure(const lci_context* context, lci_failure* out);
/**
 * Gives the context up, on all members: calls under way end there with LCI_ERR_COLLECTIVE, and later ones fail at once.
 * It takes effect when its device is progressed. Any thread; the first revocation counts.
 * @param cause an error, for the others: 32 or more, else LCI_ERR_ARGUMENT.
 */
LCI_API int lci_context_revoke(lci_context* context, uint32_t cause);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Fences
 * A fence tells when everything that was posted on a device before it has ended and left this rank: active messages,
 * sends, puts, gets and atomic operations, in the backlog, under way, or announced to a port without room. A long send
 * (rendezvous) ends when a receive matches it; a short one has left when its engine knows it. Receives, barriers and
 * what peers get from this rank do not count. An operation that fails has ended. Constant traffic holds no fence up;
 * some of what is posted while earlier operations are under way may count, too. A fence holds nothing and need not be
 * awaited; a device without one pays nothing. Not in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT).
 * @{
 */

/**
 * Begins a fence of a device that no lane owns. Any thread.
 * @param out_fence its number, for lci_device_fence_passed()
 * @return LCI_DONE, LCI_RETRY_LOCK while another thread is inside the device, LCI_ERR_DEVICE for a device of a lane.
 */
LCI_API int lci_device_fence(lci_device* device, uint64_t* out_fence);
/**
 * Answers LCI_DONE when everything before the fence has ended and left; else LCI_RETRY, also while another thread is
 * inside the device. It never progresses. LCI_ERR_ARGUMENT for a number that lci_device_fence() did not give.
 */
LCI_API int lci_device_fence_passed(lci_device* device, uint64_t fence);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Ports
 * A port is a number for messages to a completion object of this rank (the paper's remote completion handle). Numbers
 * 1..32767 are the user's. A port that is not open grants nothing: early senders see nocredit, and no message is lost.
 * @{
 */

/**
 * Opens port @p number on this rank with @p comp behind it.
 * @param name compared with the senders' name for the same number; "" matches any.
 * @param messages,bytes capacity: at most so much is stored or granted; 0 means the defaults. A queue's own bounds
 *        limit it, and must suffice for all the queue's ports and completions (else see ::LCI_QUEUE_ARRAY). Handlers
 *        and counters store nothing and need no credit; above lci_runtime_max_eager() a sender may announce 64 messages
 *        to them, of which 2 MiB come at a time.
 */
LCI_API int lci_port_open(lci_runtime* runtime, uint32_t number, const char* name, lci_comp* comp, uint32_t messages,
                          uint64_t bytes);
/**
 * Sets room for @p count replies of up to @p bytes each aside at a port of this rank, besides its capacity. A request
 * names the room: `policy` of its descriptor is @p out_id. The core reserves the room for its reply before the request
 * leaves. While there is none, it answers LCI_RETRY_PENDING, and a lane's generation word moves when there is room
 * again. The receiver answers with ::LCI_AM_REPLY, and needs no credit for that, so a receiver that is busy with
 * requests of its own is never in the way of replies. The room is free again when the reply is taken from its
 * completion object, when the receiver discards the request, or when the peer ends. Call it once for a port, before or
 * after the port is opened; any thread.
 *
 * LCI_ERR_SIZE if @p bytes exceed lci_runtime_max_eager(), LCI_ERR_EXHAUSTED beyond LCI_MAX_REPLY_ROOM ports of a
 * runtime.
 */
LCI_API int lci_port_reply_room(lci_runtime* runtime, uint32_t port, uint32_t count, uint32_t bytes, uint8_t* out_id);
/** Most ports of a runtime with room for replies; also the largest id. */
#define LCI_MAX_REPLY_ROOM 127u
/** Names a port for sending, so that a mismatch is found before the first message is delivered. Optional. */
LCI_API int lci_port_name(lci_runtime* runtime, uint32_t number, const char* name);
/**
 * Closes the port: senders get LCI_ERR_PORT_CLOSED, queued messages are discarded and counted. The port may be opened
 * again; what a sender had announced without credit before it learned of the end may then come to the new opening.
 */
LCI_API int lci_port_close(lci_runtime* runtime, uint32_t number);
/**
 * Reads an attribute of an open port: "port_name", "inbox_messages" and "inbox_bytes" (as much as it can hold),
 * "generation" (how often it was opened).
 */
LCI_API int lci_port_attr(lci_runtime* runtime, uint32_t number, const char* name, char* out, size_t out_size);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Remote memory
 * Regions of this rank's memory that peers put to and get from. A region has a key in the memory that its owner shares.
 * A rank that holds a handle checks the key at every use, so a use after lci_memory_free(), lci_memory_deregister() or
 * the owner's close answers LCI_ERR_MEMORY_CLOSED and touches nothing. The initiator checks bounds at every use, and
 * the target checks them again where it does the work: LCI_ERR_SIZE. All functions: any thread.
 * @{
 */
typedef struct lci_memory lci_memory;
/** Bytes of a handle; the same for every region. */
#define LCI_MEMORY_HANDLE_SIZE 64u

/**
 * Takes @p bytes of this rank's shared arena, aligned to 64, with undefined content. Peers of the host put and get here
 * by plain copies. LCI_ERR_NO_MEMORY when the arena, the memory limit or the system has no more. Memory that is not
 * freed ends with its runtime.
 */
LCI_API int lci_memory_allocate(lci_runtime* runtime, uint64_t bytes, lci_memory** out, void** out_address);
/**
 * Ends an allocation. The pages go back to the system. The range is used again when no copy that a peer had begun can
 * touch it any more; no thread waits for that. LCI_ERR_BUSY while parts of it are registered.
 */
LCI_API int lci_memory_free(lci_memory* memory);
/**
 * Registers memory of this process, which stays the caller's and must stay valid. Peers may name any part of it. The
 * same memory may be registered several times, and regions may overlap; no bytes (with null) are allowed. Parts of an
 * allocation are as fast as the allocation. For other memory, the processes of peers need this rank's progress.
 * LCI_ERR_EXHAUSTED beyond 65,536 regions of a rank.
 */
LCI_API int lci_memory_register(lci_runtime* runtime, void* address, uint64_t bytes, lci_memory** out);
/**
 * Ends a registration. When the call returns, no copy by this process touches the memory; the call waits for one that
 * is under way. In a part of an allocation, a copy that a peer's process had begun may still end.
 */
LCI_API int lci_memory_deregister(lci_memory* memory);
/**
 * Writes the LCI_MEMORY_HANDLE_SIZE bytes by which peers open the region. They have a version and a checksum, and may
 * be sent by any means. LCI_ERR_SIZE if @p size is less.
 */
LCI_API int lci_memory_handle(const lci_memory* memory, void* out, size_t size);
/**
 * Opens a region of @p rank (this one included) from its handle, for the member `remote` of descriptors. Every byte is
 * checked: LCI_ERR_ARGUMENT if they are no handle of that rank, LCI_ERR_MEMORY_CLOSED if the region has ended,
 * LCI_ERR_PROTOCOL if the memory that its owner shares makes no sense, LCI_ERR_PEER_FAILED or LCI_ERR_PEER_LEFT,
 * LCI_ERR_EXHAUSTED beyond 2^20. Where a rank reads only what was sent to it (attribute peer_memory), this call asks
 * nobody: the first operation that moves a byte ends with LCI_ERR_MEMORY_CLOSED if the region has ended.
 * @param out_size bytes of the region; may be null.
 */
LCI_API int lci_remote_open(lci_runtime* runtime, uint32_t rank, const void* handle, size_t length, uint64_t* out_id,
                            uint64_t* out_size);
/**
 * Ends the use of an id; operations under way go on. An id that was closed answers LCI_ERR_MEMORY_CLOSED from then on.
 */
LCI_API int lci_remote_close(lci_runtime* runtime, uint64_t id);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Matching engines
 * Domains of send and receive that do not meet: the same ranks and tags on two engines do not cross. The caller chooses
 * the number, the same on all ranks; it goes into `port` of sends and receives. Engine 0 is always there. Each engine
 * has its own capacity (attributes engine_messages, engine_bytes, announcements), and works with every device.
 * @{
 */

/** Largest number of a matching engine. */
#define LCI_MAX_ENGINE 255u

enum {
  LCI_ENGINE_MAP = 0,   /**< A hash table. */
  LCI_ENGINE_QUEUE = 1, /**< Two lists, for debugging. */
  /**
   * Added to the type: each operation brings its key in `u.ref.remote`, whatever rank, tag and policy are. It serves
   * callers whose keys the core cannot compute by a call. Not for inline payloads, which have no place for the key.
   */
  LCI_ENGINE_KEYED = 16
};

/**
 * Makes the key of an operation: the value that a send and a receive must have in common. The posting thread calls it,
 * on both sides, so calls may be concurrent; the function may not call the library.
 * @param rank the source: of a send the poster itself, of a receive as posted.
 * @param policy of a receive: as wildcards have changed it. A wildcard is passed as LCI_ANY_SOURCE or LCI_ANY_TAG.
 */
typedef uint64_t (*lci_make_key_fn)(uint32_t rank, uint64_t tag, uint32_t policy, void* argument);

/**
 * Creates engine @p number, 1..LCI_MAX_ENGINE, on this rank; both sender and receiver need it. Sends to a rank that has
 * not created it yet wait as for a port that is not open: one is announced, others answer LCI_RETRY_NOCREDIT.
 * @param type one of LCI_ENGINE_*.
 * @param make_key null: rank, tag and policy. All ranks must agree on whether keys are the user's: otherwise sends
 *        answer LCI_ERR_PORT_MISMATCH.
 * @return LCI_ERR_ARGUMENT if the number is out of range or in use.
 */
LCI_API int lci_engine_create(lci_runtime* runtime, uint32_t number, uint32_t type, lci_make_key_fn make_key,
                              void* argument);
/**
 * Ends an engine. The calling thread signals LCI_ERR_CANCELLED for receives that are not matched, before the call
 * returns. Sends that are not matched are discarded and counted. Sends that wait at their sender end there with
 * LCI_ERR_PORT_CLOSED, and so do later ones. Matched messages go on. The number may be used again.
 */
LCI_API int lci_engine_free(lci_runtime* runtime, uint32_t number);
/** Reads an attribute of an engine: "matching_engine_type", "keyed". */
LCI_API int lci_engine_attr(lci_runtime* runtime, uint32_t number, const char* name, char* out, size_t out_size);

/** The matching of an engine without its messages: it pairs the values that callers insert. Any thread. */
typedef struct lci_matching lci_matching;
enum { LCI_SIDE_SEND = 0, LCI_SIDE_RECV = 1 };
/** @param type LCI_ENGINE_MAP or LCI_ENGINE_QUEUE. @param runtime whose attribute matching_buckets counts. */
LCI_API int lci_matching_create(lci_runtime* runtime, uint32_t type, lci_matching** out);
/**
 * Takes out the oldest value of the other side with this key; if there is none, stores @p value (not null) and sets @p
 * out_match to null.
 */
LCI_API int lci_matching_insert(lci_matching* matching, uint64_t key, void* value, int side, void** out_match);
/** Takes a stored value out. LCI_RETRY if it is not there, or has been matched. */
LCI_API int lci_matching_remove(lci_matching* matching, uint64_t key, void* value, int side);
/** Values that are still stored stay the caller's. */
LCI_API void lci_matching_free(lci_matching* matching);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Posting
 * @{ */

typedef enum lci_op_kind {
  LCI_OP_AM = 1,      /**< Active message to (rank, port). */
  LCI_OP_SEND = 2,    /**< Matched send to (rank, engine). */
  LCI_OP_RECV = 3,    /**< Matched receive from (rank or LCI_ANY_SOURCE, engine). */
  LCI_OP_BARRIER = 4, /**< A dissemination barrier over all ranks, numbered by posting order; see lci_post_barrier(). */
  LCI_OP_CANCEL = 5,  /**< Cancels the unmatched receive whose user_context is `tag`; see lci_post_cancel(). */
  LCI_OP_PUT = 6,     /**< Writes into a region of `rank`; with `port`, a signal follows the data. */
  LCI_OP_GET = 7,     /**< Reads a region of `rank` into `address`; with `port`, a signal follows its arrival here. */
  /**
   * Changes a 64-bit word of a region of `rank` in one step, and brings the value before; `policy` says how, see
   * ::lci_atomic_op and lci_post_atomic().
   */
  LCI_OP_ATOMIC = 8,
  /**
   * Lanes: host node `rank` of the graph and run in `user_context` (as recorded) is done; `tag` is its value, the tag
   * of its status. LCI_ERR_OVERRUN if nothing waited for it.
   */
  LCI_OP_NODE_DONE = 9,
  /** The same with an error in `size` (0: LCI_ERR_CANCELLED), which ends the run. */
  LCI_OP_NODE_FAILED = 10,
  /**
   * Lanes: starts a run of the graph whose id is `user_context`. LCI_POSTED, as lci_graph_start(); with `size` 1 the
   * run has the number in `tag`, as by lci_graph_start_run(). Another `size` is LCI_ERR_ARGUMENT.
   */
  LCI_OP_GRAPH_START = 11,
  /**
   * Lanes: releases the message that was retained under the number in `user_context`, see LCI_RECORD_FLAG_KEPT.
   * LCI_ERR_ARGUMENT if none is, or no longer.
   */
  LCI_OP_RELEASE = 12,
  /** Nodes of graphs alone: copies `u.memory.count` bytes of this process. See lci_graph_add_op(). */
  LCI_OP_COPY = 13,
  /**
   * Nodes of graphs alone: combines `u.memory.count` elements of two arrays of this process by `policy`, an
   * ::lci_reduce_op; `port` is their ::lci_data_type. See lci_graph_add_op().
   */
  LCI_OP_REDUCE = 14,
  /** The next call of the group whose context has the id `tag`, see ::lci_collective. */
  LCI_OP_COLLECTIVE = 15
} lci_op_kind;

/**
 * Elements of LCI_OP_REDUCE, as they lie in memory of this machine, aligned or not. A pair is a value and behind it an
 * integer of the same size, its index.
 */
typedef enum lci_data_type {
  LCI_TYPE_I8 = 1,
  LCI_TYPE_U8 = 2,
  LCI_TYPE_I16 = 3,
  LCI_TYPE_U16 = 4,
  LCI_TYPE_I32 = 5,
  LCI_TYPE_U32 = 6,
  LCI_TYPE_I64 = 7,
  LCI_TYPE_U64 = 8,
  LCI_TYPE_F32 = 9,
  LCI_TYPE_F64 = 10,
  LCI_TYPE_I32_I32 = 11, /**< Pairs: LCI_REDUCE_MINLOC and LCI_REDUCE_MAXLOC alone. */
  LCI_TYPE_I64_I64 = 12,
  LCI_TYPE_F32_I32 = 13,
  LCI_TYPE_F64_I64 = 14
} lci_data_type;

/**
 * How LCI_OP_REDUCE combines a left element with a right one. The result depends on the two alone, to the last bit, on
 * every processor.
 */
typedef enum lci_reduce_op {
  LCI_REDUCE_SUM = 1,    /**< Integers wrap around. A result that is no number is the one NaN of Java. */
  LCI_REDUCE_PROD = 2,   /**< The same. */
  LCI_REDUCE_MIN = 3,    /**< As Math.min() of Java: NaN wins, and is the one of Java; -0.0 is below 0.0. */
  LCI_REDUCE_MAX = 4,    /**< As Math.max(). */
  LCI_REDUCE_MINLOC = 5, /**< The pair with the lower value; of equal ones that with the lower index, of equal pairs the
                              left one. -0.0 is below 0.0. NaN wins, and all NaN are equal. */
  LCI_REDUCE_MAXLOC = 6, /**< The pair with the higher value; else the same. */
  LCI_REDUCE_BAND = 7,   /**< Bit by bit; integers alone. */
  LCI_REDUCE_BOR = 8,    /**< The same. */
  LCI_REDUCE_BXOR = 9    /**< The same. */
} lci_reduce_op;

/** How an atomic operation changes a word. Sums wrap around at 2^64. */
typedef enum lci_atomic_op {
  LCI_ATOMIC_ADD = 1,         /**< Adds the operand. */
  LCI_ATOMIC_SWAP = 2,        /**< Stores the operand. */
  LCI_ATOMIC_COMPARE_SWAP = 3 /**< Stores the operand if the word has the expected value. */
} lci_atomic_op;

/** Rank of a receive that matches any source (the sender must use LCI_POLICY_TAG or LCI_POLICY_NONE). */
#define LCI_ANY_SOURCE 0xFFFFFFFFu
/** Tag of a receive that matches any tag (the sender must use LCI_POLICY_RANK or LCI_POLICY_NONE). */
#define LCI_ANY_TAG 0xFFFFFFFFFFFFFFFFull
/** Largest tag of send and receive; active messages carry 64 bits. */
#define LCI_MAX_TAG 0xFFFFFFFFull
/** Largest port number. */
#define LCI_MAX_PORT 32767u
/** Most parts of a port, see lci_lane_open_part(). */
#define LCI_MAX_PORT_PARTS 64u
/** Largest tag of a put or get with signal; a larger one answers LCI_ERR_TAG. */
#define LCI_MAX_SIGNAL_TAG 65535u

/**
 * The parts of the key that a send and a receive compare; both sides must choose the same. A wildcard receive overrides
 * its policy.
 */
typedef enum lci_policy {
  LCI_POLICY_RANK_TAG = 0,
  LCI_POLICY_RANK = 1,
  LCI_POLICY_TAG = 2,
  LCI_POLICY_NONE = 3
} lci_policy;

/**
 * In `policy` of an active message: the message answers a request of `rank` that reserved room at `port`, and needs no
 * credit. LCI_ERR_ARGUMENT if no request of that rank is left to be answered there; LCI_ERR_SIZE if it is longer than
 * the room. Several replies have no order.
 */
#define LCI_AM_REPLY 128u

enum {
  /**
   * The payload is inside the descriptor, from byte 32 on, and continues in the following entries; at most 192 bytes.
   * The payload of a put starts in the following entry, at byte 64. A get has no inline form except for no bytes.
   */
  LCI_FLAG_INLINE = 0,
  /**
   * `address` is a packet handle of this runtime, from lci_packet_get() or a lane's cache. The core takes the packet on
   * done and posted; the caller keeps it on retry and error. Refused for receives. Packets are named by handle only: a
   * search by the payload's address would burden each post of a buffer.
   */
  LCI_FLAG_PACKET = 1,
  /** `address` is memory that stays valid until done or the signal. */
  LCI_FLAG_BUFFER = 2,
  LCI_FLAG_PAYLOAD_MASK = 3,
  /**
   * Signal even if the operation ends at once: done becomes posted (allow_done = false). So does the LCI_ERR_TRUNCATED
   * of a receive whose message was there: its signal has rank, tag and size.
   */
  LCI_FLAG_SIGNAL = 4,
  /** Do not answer retry: use the backlog. LCI_ERR_EXHAUSTED at its bound (allow_retry = false). */
  LCI_FLAG_NO_RETRY = 8,
  /** The low 32 bits of user_context name a completion object of this runtime to signal instead of the lane. */
  LCI_FLAG_COMP = 16,
  /**
   * Active message and send: completion semantic "network". The answer is posted. The one signal comes when the
   * receiver's side has taken the whole message out of the ring and out of this rank's packets: the receiver has stored
   * it, has it in its receive buffer, or discarded it because its port closed. The signal does not mean that a send was
   * matched, unless the send waited at this rank for that (announced, rendezvous). Such a message takes a packet
   * whatever its size.
   *
   * The buffer must not change before the signal. Memory of lci_memory_allocate() is not copied into the packet if
   * there is credit: the receiver reads it where it lies. With any semantic, the receiver also reads it there if the
   * message is above lci_runtime_max_eager(). After LCI_ERR_CANCELLED or an error of the peer, and after
   * lci_lane_free(), the receiver may go on to read it until lci_runtime_close() returns. Other operations ignore the
   * flag.
   */
  LCI_FLAG_NETWORK = 32,
  /**
   * With LCI_FLAG_BUFFER: `address` points to `count` ::lci_buffer. The list itself may go when the post returns; the
   * memory that it names must stay until done or the signal. Statuses have a null buffer, and the size of all parts
   * together.
   *
   * Active message, send and receive: the bytes are one message; `size` is ignored. Small messages are gathered into a
   * packet, large ones are streamed from where they lie. A receive fills its buffers from first to last; the other side
   * may have others, or one.
   *
   * Put and get: `remote` points to as many ::lci_place, all of `rank`; buffer i goes to, or is filled from, place i.
   * `size` and `displacement` are 0. All parts are checked before the first byte moves; there is one answer or
   * completion, and one signal, for all of them. Parts move in any order; where places overlap, any of them may be the
   * last.
   */
  LCI_FLAG_LIST = 64,
  /**
   * lci_post() itself progresses the device until the operation has ended, and answers done or an error, never posted
   * (allow_posted = false). No object is signalled; `out` holds the status. Without LCI_FLAG_NO_RETRY it may answer
   * retry, at once; with it, it waits for room, too. The call ends when the operation does, so a receive waits until it
   * is matched. If the message for it comes by another device, another thread must progress that one. Not together with
   * LCI_FLAG_SIGNAL or LCI_FLAG_COMP (LCI_ERR_ARGUMENT); refused in handlers and on devices of lanes.
   */
  LCI_FLAG_WAIT = 128
};

/** A part of a message, see LCI_FLAG_LIST. Null is allowed for no bytes. */
typedef struct lci_buffer {
  void* address;
  uint64_t size;
} lci_buffer;
/** Where a part of a put or get lies in remote memory, see LCI_FLAG_LIST. */
typedef struct lci_place {
  uint64_t remote;       /**< Id from lci_remote_open(). */
  uint64_t displacement; /**< Bytes from the start of the region. */
} lci_place;
/** Most parts of a list. */
#define LCI_MAX_LIST 65536u

/**
 * One operation, 64 bytes: the entries of a lane's submission array, and the argument of lci_post(). Little-endian, no
 * padding; offsets are part of the ABI (see lci_layout()).
 */
typedef struct lci_descriptor {
  uint8_t op;            /**< ::lci_op_kind */
  uint8_t flags;         /**< LCI_FLAG_* */
  uint16_t outcome;      /**< Written by the core: an ::lci_code. */
  uint32_t rank;         /**< Peer. Collective: the root, a member. */
  uint16_t port;         /**< AM: port number; send and receive: matching engine (0 is the default); put and get: port
                            of `rank` that is signalled, 0 for none; collective: ::lci_collective_kind. */
  uint8_t device;        /**< Lane: index among the lane's devices; lci_post(): ignored. */
  uint8_t policy;        /**< Send and receive: ::lci_policy. AM: 0, or the id of the room for its reply, or
                            LCI_AM_REPLY, or both together. Atomic: ::lci_atomic_op. Collective: ::lci_reduce_op. */
  uint32_t size;         /**< Payload bytes, or the length of the receive buffer. Atomic: 8. Collective:
                            ::lci_data_type, and above its 8 bits an ::lci_algorithm. */
  uint64_t tag;          /**< Tag. Atomic: ignored; in a lane the core writes the value before here, if the outcome is
                            LCI_DONE. */
  uint64_t user_context; /**< Comes back in the completion. */
  union {
    uint8_t inline_payload[32];
    struct {
      uint64_t address;      /**< LCI_FLAG_PACKET: handle; LCI_FLAG_BUFFER: memory. */
      uint64_t remote;       /**< Put and get: id from lci_remote_open(). With LCI_FLAG_LIST: ::lci_place. */
      uint64_t displacement; /**< Put and get: bytes from the start of the remote region, not an address. */
      uint64_t count;        /**< Put and get with LCI_FLAG_BUFFER: bytes, where `size` is too narrow and 0. Receive
                                with LCI_FLAG_BUFFER: the longest message, see lci_post_recv_long(); 0: `size`. With
                                LCI_FLAG_LIST: parts. Else 0. */
    } ref;
    /** Atomic, with LCI_FLAG_INLINE. */
    struct {
      uint64_t operand;      /**< The number that is added or stored. */
      uint64_t remote;       /**< Id from lci_remote_open(). */
      uint64_t displacement; /**< Bytes from the start of the remote region: a multiple of 8. */
      uint64_t expected;     /**< LCI_ATOMIC_COMPARE_SWAP: the value that is replaced; else ignored. */
    } atomic;
    /** LCI_OP_COPY and LCI_OP_REDUCE: addresses in this process. */
    struct {
      uint64_t destination; /**< May be `left` or `right`; otherwise it overlaps neither. */
      uint64_t left;        /**< The source of a copy. */
      uint64_t right;       /**< Ignored by a copy. */
      uint64_t count;       /**< Bytes of a copy, elements of a reduction. */
    } memory;
    /** LCI_OP_COLLECTIVE: as in ::lci_collective. */
    struct {
      uint64_t in;
      uint64_t out;
      uint64_t count;
      uint64_t counts;
    } collective;
  } u;
} lci_descriptor;

/** A descriptor of no operation, to be filled in. */
#define LCI_DESCRIPTOR_INIT         \
  {                                 \
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { \
      { 0 }                         \
    }                               \
  }

/** In place of a completion object: LCI_FLAG_WAIT and LCI_FLAG_NO_RETRY, fully blocking. Only for posts. */
#define LCI_COMP_NULL ((lci_comp*)(uintptr_t)1)
/** In place of a completion object: LCI_FLAG_WAIT, with retry. Only for posts. */
#define LCI_COMP_NULL_RETRY ((lci_comp*)(uintptr_t)2)

/**
 * Posts one operation through a device that no lane owns.
 * @param op LCI_FLAG_INLINE entries must be contiguous with their payload.
 * @param comp signalled when the answer is posted. It may be null only for operations that cannot be posted (active
 *        messages and sends of at most lci_runtime_max_eager() bytes without LCI_FLAG_SIGNAL and LCI_FLAG_NETWORK), or
 *        with LCI_FLAG_COMP. Otherwise null answers LCI_ERR_ARGUMENT, also where this operation could be done at once;
 *        so does a number with LCI_FLAG_COMP that names no object.
 * @param out filled on done; on any other answer its code is that answer. May be null.
 */
LCI_API int lci_post(lci_device* device, lci_descriptor* op, lci_comp* comp, lci_status* out);
/**
 * Gets a packet of the runtime, for a message that the caller assembles in it: posted with LCI_FLAG_PACKET, it is not
 * copied. Any thread; @p device says whose packets come first when several devices have some.
 * @param payload lci_runtime_max_eager() bytes, aligned to 64.
 * @return LCI_RETRY_NOPACKET if there is none now, which does not prove that all are in use.
 */
LCI_API int lci_packet_get(lci_device* device, uint64_t* handle, void** payload);
/**
 * Gives a packet back that was not posted. LCI_ERR_ARGUMENT if the caller does not hold it: it was posted, was put
 * before, or is no packet. When the runtime closes, lci_runtime_close() counts the packets that are still held in the
 * text of lci_last_error(), and answers LCI_DONE all the same.
 */
LCI_API int lci_packet_put(lci_device* device, uint64_t handle);
/**
 * Creates a pool for devices that must not run dry because of others. The pool grows by @p packets at a time, up to @p
 * packets_max. It lives as long as the runtime. There may be at most 15 beside pool 0, which is always there and serves
 * all devices at first.
 */
LCI_API int lci_pool_create(lci_runtime* runtime, uint32_t packets, uint32_t packets_max, uint32_t* out_number);
/**
 * From now on the device takes its packets from this pool, alone or together with other devices that use it. Packets of
 * any pool may be posted on any device, and go back to their pool. Any thread.
 */
LCI_API int lci_device_use_pool(lci_device* device, uint32_t number);
/** Posts an active message; thin form of lci_post(). */
LCI_API int lci_post_am(lci_device* device, uint32_t rank, uint32_t port, uint64_t tag, const void* buffer,
                        uint32_t size, lci_comp* comp, uint64_t user_context);
LCI_API int lci_post_send(lci_device* device, uint32_t rank, uint64_t tag, const void* buffer, uint32_t size,
                          lci_comp* comp, uint64_t user_context);
/**
 * Posts a matched receive; thin form. Messages that a rank sent before its end can be received afterwards. A receive
 * that names the rank and that nothing can match any more ends with LCI_ERR_PEER_LEFT or LCI_ERR_PEER_FAILED, when all
 * devices of this rank to which the other ever spoke have been progressed that far.
 */
LCI_API int lci_post_recv(lci_device* device, uint32_t rank, uint64_t tag, void* buffer, uint32_t size, lci_comp* comp,
                          uint64_t user_context, lci_status* out);
/**
 * As lci_post_recv(), for messages whose length is not known: one of up to @p size bytes goes to @p buffer, a longer
 * one of up to @p longest bytes to memory that the library takes when the message is matched. The status names the
 * memory that holds the message. If that is not @p buffer, the caller frees it by lci_buffer_free() or
 * lci_arrival_free(); what is not freed ends with the runtime. @p size is at least lci_runtime_max_eager(), else
 * LCI_ERR_ARGUMENT. A message above @p longest ends with LCI_ERR_TRUNCATED, one for which there is no memory with
 * LCI_ERR_NO_MEMORY; @p buffer has its first bytes then.
 */
LCI_API int lci_post_recv_long(lci_device* device, uint32_t rank, uint64_t tag, void* buffer, uint32_t size,
                               uint64_t longest, lci_comp* comp, uint64_t user_context, lci_status* out);
/**
 * Posts a barrier over all ranks; thin form. Answers posted, or LCI_RETRY_PENDING while 65,536 of this rank's barriers
 * are under way.
 */
LCI_API int lci_post_barrier(lci_device* device, lci_comp* comp, uint64_t user_context);
/**
 * Posts a barrier of the group of a context, on its device, as its next call; thin form. It ends when every member has
 * posted it. The status has the number of the call as its tag, and no buffer.
 *
 * Calls of a context have numbers in the order in which they are posted, from 0, so all members must post the same
 * calls of a context in the same order. Calls of different contexts may be posted in any order, and do not wait for
 * each other. A call that is missing at one member never ends.
 * @param comp not null
 * @return LCI_POSTED; LCI_RETRY_PENDING while 64 calls of the context are under way; LCI_RETRY_NOCREDIT while a member
 *         has no room for another call that it has not posted yet, that is, while it is about 15 calls behind.
 *         LCI_ERR_PEER_LEFT, LCI_ERR_PEER_FAILED, LCI_ERR_MISMATCH, LCI_ERR_COLLECTIVE: the context has failed, and so
 *         does each later post. lci_last_error_rank() says because of which rank.
 */
LCI_API int lci_post_group_barrier(lci_context* context, lci_comp* comp, uint64_t user_context);

/** A call of a group: what a member brings, and gets. See ::lci_collective_kind. */
typedef struct lci_collective {
  uint32_t kind;      /**< ::lci_collective_kind */
  uint32_t algorithm; /**< ::lci_algorithm; the same on all members. */
  uint32_t type;      /**< ::lci_data_type */
  uint32_t op;        /**< ::lci_reduce_op of those that combine; else 0. */
  uint32_t root;      /**< A member. 0 where there is none. */
  uint32_t reserved;  /**< 0. */
  /**
   * Where this member's part lies, aligned or not, until the call ends. It must not change before that. May be null for
   * no bytes, at members that bring nothing, and in a broadcast.
   */
  const void* in;
  /**
   * Where the result goes, written any time until the call ends. Null as `in`. It overlaps `in` nowhere; or it is the
   * same memory (where both have the same size); or `in` is the own block of `out` (allgather, gather
   * at its root), or `out` the own block of `in` (scatter at its root).
   */
  void* out;
  uint64_t count; /**< Elements of a block. */
  /**
   * Elements of blocks that differ, which stay as `in` does; null: there are `count` in each. Reduce-scatter and
   * allgather: n of them, on all members. Gather and scatter: n, at the root; the others say in `count` what is theirs.
   * Alltoall: the n that this member sends, then the n that it gets. Neighbours, where there must be some: how many
   * members get a block, and their numbers; from how many this one gets one, and theirs. No member is there twice in
   * either list, and this one in none.
   */
  const uint64_t* counts;
} lci_collective;

/**
 * Posts the next call of a context, on its device; thin form. It ends when this member's part is done: its result is
 * there, and nobody needs its memory any more. Others may not have entered the call yet, if they wait for this member.
 *
 * The status of the end has the number of the call as tag, `out` as buffer, and its bytes as size.
 *
 * @return LCI_POSTED; retries and errors as lci_post_group_barrier(). LCI_ERR_ARGUMENT: there is no such call, or the
 *         algorithm cannot serve it; LCI_ERR_NO_MEMORY: none for the call. After those two no call has been made.
 */
LCI_API int lci_post_collective(lci_context* context, const lci_collective* call, lci_comp* comp,
                                uint64_t user_context);
/**
 * Which algorithm a call of a context has, if it is posted with these arguments: the one that it names, or that the
 * core chooses for LCI_ALGORITHM_AUTO. All members get the same answer, at any time; nothing is posted. Any thread.
 * @param call where its memory lies does not count: `in` and `out` may be null
 * @param out_algorithm gets an ::lci_algorithm
 * @return LCI_DONE; LCI_ERR_ARGUMENT or LCI_ERR_RANK as lci_post_collective(), and for LCI_COLLECTIVE_AGREE, which has
 *         none.
 */
LCI_API int lci_collective_chosen(const lci_context* context, const lci_collective* call, uint32_t* out_algorithm);
/** Most members of a group that agrees. */
#define LCI_MAX_AGREE 1024u
/**
 * Posts the next agreement of a context, on its device; thin form. It works on contexts that have failed, too, and has
 * numbers of its own: all living members post the same ones. It ends when this member has the outcome. All that
 * get one get the same, even if members die meanwhile, also those that die after they got one. A member that frees the
 * context without posting it makes the others wait. A rank that the others have given up gets LCI_ERR_FENCED; one that
 * is cut off, and finds all others failed before it hears that, agrees with itself.
 *
 * In a descriptor of LCI_OP_COLLECTIVE `port` is LCI_COLLECTIVE_AGREE, `in` the value and `out` as here; all else is 0.
 * @param value of which the outcome has the bits that all have set which took part.
 * @param out gets 8 bytes, the value of the outcome, and then a byte for each member: 1 if some member knew that it was
 *        dead, or had left; else 0. Valid until the end.
 * @return LCI_POSTED; LCI_RETRY_PENDING: the one before has not ended; LCI_ERR_ARGUMENT; LCI_ERR_SIZE: the group has
 *         more than LCI_MAX_AGREE members. The status of the end has the number of the agreement as tag.
 */
LCI_API int lci_post_agree(lci_context* context, uint64_t value, void* out, lci_comp* comp, uint64_t user_context);
/**
 * Cancels the unmatched receive with this user_context that was posted on this device, on engine 0; thin form.
 * LCI_DONE: its signal, LCI_ERR_CANCELLED, has been given. LCI_ERR_NOT_PENDING: no such receive waits here. It was
 * matched and its own signal tells, it has ended, or it was posted on another device, where it must be cancelled.
 * LCI_RETRY_LOCK: another thread is inside the device.
 */
LCI_API int lci_post_cancel(lci_device* device, uint64_t user_context);

/**
 * Writes @p size bytes into an open region, at @p displacement from its start.
 *
 * Any size, also more than 32 bits. The caller itself writes memory that its owner allocated, or that is in this
 * process: the answer is done, and the data is in place. Other memory is written through the progress of both sides:
 * the answer is posted, and the operation ends, by the signal of @p comp, when the target has the data. At most 256
 * such operations per device and rank are under way: LCI_RETRY_PENDING. With attribute rma = messages all puts and gets
 * go this way.
 *
 * Errors: LCI_ERR_MEMORY_CLOSED (the region or the id has ended), LCI_ERR_SIZE (bounds), LCI_ERR_RANK (the region
 * belongs to another rank), LCI_ERR_ARGUMENT (no completion object for an operation that has to be posted),
 * LCI_ERR_PEER_FAILED, LCI_ERR_PEER_LEFT. A post that fails has written nothing; a posted operation that ends with an
 * error may have written a part.
 */
LCI_API int lci_post_put(lci_device* device, uint32_t rank, const void* buffer, uint64_t size, uint64_t remote,
                         uint64_t displacement, lci_comp* comp, uint64_t user_context);
/** Reads @p size bytes of an open region into @p buffer; otherwise as lci_post_put(). */
LCI_API int lci_post_get(lci_device* device, uint32_t rank, void* buffer, uint64_t size, uint64_t remote,
                         uint64_t displacement, lci_comp* comp, uint64_t user_context);
/**
 * As lci_post_put(); then port @p port of the target gets, after the data, a status with the initiator's rank, @p tag
 * (at most LCI_MAX_SIGNAL_TAG), a null buffer and size 0. It is a message under that port's credit, which is refused
 * (LCI_RETRY_NOCREDIT and others) before anything is written.
 *
 * As with any message, done says nothing of its delivery: a signal that comes to a port that has closed is discarded
 * and counted, there or here, and the operation is done all the same. LCI_ERR_PORT_CLOSED is the answer of a post, with
 * nothing written, when this rank knows already that the port is closed. It is the end of a posted operation when this
 * rank learns so before the target has acknowledged the data, which is in place then. If the port closes and opens
 * again meanwhile, the signal goes to the new opening.
 */
LCI_API int lci_post_put_signal(lci_device* device, uint32_t rank, const void* buffer, uint64_t size, uint64_t remote,
                                uint64_t displacement, uint32_t port, uint64_t tag, lci_comp* comp,
                                uint64_t user_context);
/** As lci_post_get(); then port @p port of the owner gets a status, as above, which says that its memory was read. */
LCI_API int lci_post_get_signal(lci_device* device, uint32_t rank, void* buffer, uint64_t size, uint64_t remote,
                                uint64_t displacement, uint32_t port, uint64_t tag, lci_comp* comp,
                                uint64_t user_context);
/**
 * Changes the 64-bit word of an open region at @p displacement from its start in one step, and brings the value that it
 * had before. A processor's instruction does it, in sequentially consistent order; never a network card. The operations
 * of all ranks on a word are atomic with each other, and with atomic instructions of its owner. They are not atomic
 * with puts and gets.
 *
 * The caller itself changes memory that its owner allocated, or that is in this process: the answer is done. Other
 * memory is changed by its owner in its progress: the answer is posted, as with lci_post_put(), under the same bound of
 * operations that are under way. `tag` of the status is the value before. LCI_ATOMIC_COMPARE_SWAP stored its operand if
 * that value is @p expected.
 *
 * An operation that ends with LCI_DONE has changed the word exactly once. After LCI_ERR_PEER_FAILED, LCI_ERR_PEER_LEFT
 * or LCI_ERR_CANCELLED it has changed the word once or not at all; after any other error, and after an error of the
 * post, not at all.
 *
 * Errors: LCI_ERR_ARGUMENT (an unknown operation, a displacement that is no multiple of 8, a region that does not start
 * at a multiple of 8, or no completion object), LCI_ERR_SIZE (bounds), LCI_ERR_MEMORY_CLOSED, LCI_ERR_RANK,
 * LCI_ERR_PEER_FAILED, LCI_ERR_PEER_LEFT.
 * @param operation ::lci_atomic_op
 * @param operand the number that is added or stored
 * @param expected of LCI_ATOMIC_COMPARE_SWAP; else ignored
 * @param out the status, filled on done; may be null
 */
LCI_API int lci_post_atomic(lci_device* device, uint32_t rank, int operation, uint64_t operand, uint64_t expected,
                            uint64_t remote, uint64_t displacement, lci_comp* comp, uint64_t user_context,
                            lci_status* out);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Messages in order
 * Sends between two ranks may overtake each other. A program that needs their order encodes a number into the tag:
 * sender and receiver of a stream each hold an ::lci_in_order, and post with one lci_in_order_tag() after the other. It
 * costs nothing but the tag. Order holds per (rank, engine, stream); at most LCI_IN_ORDER_NUMBERS / 2 messages of a
 * stream may be under way.
 * @{
 */
#define LCI_IN_ORDER_STREAMS 4096u
#define LCI_IN_ORDER_NUMBERS 1048576u

typedef struct lci_in_order {
  uint32_t stream; /**< Chosen by the caller, the same on both sides. */
  uint32_t next;
} lci_in_order;

/** Starts a stream. LCI_ERR_TAG if @p stream is not below LCI_IN_ORDER_STREAMS. Not thread-safe, as all of this. */
static inline int lci_in_order_start(lci_in_order* order, uint32_t stream) {
  if (stream >= LCI_IN_ORDER_STREAMS) return LCI_ERR_TAG;
  order->stream = stream;
  order->next = 0;
  return LCI_DONE;
}
/** Returns the tag of the next send, or of the next receive. After a retry, post again with the same tag. */
static inline uint64_t lci_in_order_tag(lci_in_order* order) {
  const uint64_t tag = (uint64_t)order->stream * LCI_IN_ORDER_NUMBERS + order->next;
  order->next = (order->next + 1) % LCI_IN_ORDER_NUMBERS;
  return tag;
}
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Completion graph
 * Nodes that fire when everything before them has completed: functions, operations, and (on lanes) host nodes. A graph
 * is built once and may be run any number of times.
 *
 * - A node fires once per run, in the thread that completed its last predecessor, or that started the run. It sees
 *   everything that its predecessors wrote. Functions run in signal context: they may post with retry disallowed, mark
 *   nodes and start graphs; they may not progress. A thread fires its nodes one after another; no chain nests.
 * - A run is over when every node that a path from LCI_GRAPH_START reaches has completed. A node without successors
 *   leads to LCI_GRAPH_END by itself, so nothing of a graph runs after its end. A graph without nodes is over at once.
 *   A node that no path reaches never fires.
 * - The first failure of a node ends the run with its error. Nodes that have not fired are skipped (their status is
 *   LCI_ERR_CANCELLED), the graph's unmatched receives are cancelled, and the run waits for everything else that is
 *   under way.
 * - The graph survives its runs: one owner frees it, and may run it again. Runs have numbers, from 1 on if the program
 *   gives none. One run is under way at a time, or as many as lci_graph_set_depth() says.
 * - An operation without room waits, in memory that belongs to its node, until it can go; any number may. It waits
 *   behind others of its flow that wait, and operations posted otherwise may overtake it. A run that fails takes it
 *   out: what has not gone by then never goes.
 *
 * One thread at a time may build, start, test, read or free a graph; any thread may signal it or call
 * lci_graph_mark_complete(), lci_graph_cancel() and lci_graph_cancel_run().
 * @{
 */
typedef struct lci_graph lci_graph;
/**
 * A node of one graph, and the user_context of its operation, which the graph owns. It names an instance, too: the
 * place of a run among those that may be under way at once, see lci_graph_set_depth(). Nodes are made with instance 0;
 * functions and statuses get the one of their run.
 */
typedef uint64_t lci_node;
/** Most runs of a graph that may be under way at once. */
#define LCI_MAX_GRAPH_DEPTH 16u
/** The same node in another instance. */
static inline lci_node lci_node_in(lci_node node, uint32_t instance) {
  return (node & ~((lci_node)0xFF << 24)) | (lci_node)instance << 24;
}
/** The instance that a node names. */
static inline uint32_t lci_node_instance(lci_node node) {
  return (uint32_t)(node >> 24) & 0xFF;
}
/** The node where every run begins; it takes no edges. */
#define LCI_GRAPH_START 0ull
/** The node where every run ends; it gives no edges. */
#define LCI_GRAPH_END 1ull

/**
 * The function of a node. It answers done; or posted, if lci_graph_mark_complete() or a signal of lci_graph_comp() with
 * the node as user_context follows, or has come already; or an error. It may return the answer of lci_post(), unless
 * that can be retry, which is an error here.
 */
typedef int (*lci_node_fn)(lci_graph* graph, lci_node node, void* value);
/**
 * The function of an edge. The thread that fires the destination calls it just before, in the order in which the edges
 * into the destination were added; not in a run that has failed. Values of LCI_GRAPH_START and LCI_GRAPH_END are null.
 */
typedef void (*lci_edge_fn)(const lci_status* source_status, void* source_value, void* destination_value);
typedef void (*lci_value_free_fn)(void* value);

/**
 * Creates an empty graph, which ends with lci_graph_free() or with its runtime.
 * @param comp may be null; else signalled exactly once per run with the status that lci_graph_test() gives.
 * @param user_context comes back in that status.
 */
LCI_API int lci_graph_create(lci_runtime* runtime, lci_comp* comp, uint64_t user_context, lci_graph** out);
/**
 * Frees the graph and its nodes' values. LCI_ERR_BUSY while a run is under way. The call waits for a thread that is
 * just leaving the graph, so it is allowed as soon as the end of the run was seen, but not from a handler of that end.
 */
LCI_API int lci_graph_free(lci_graph* graph);
/** Adds a function node. @param function null: a dummy, which completes when it fires. */
LCI_API int lci_graph_add_function(lci_graph* graph, lci_node_fn function, void* value, lci_node* out);
/**
 * Adds an operation, which is posted anew in each run. If it cannot go out it waits, without a bound, outside the
 * backlog, and its node with it; flags about retry are ignored. An operation that is done at once completes its node,
 * too.
 *
 * LCI_OP_COPY and LCI_OP_REDUCE are done by the thread that fires the node. Where more than 64 KiB are written they are
 * done in steps of that size instead, one in each pass of the device, so that others get their turn; of several, the
 * first one goes first. Without a device the steps follow each other at once. A run that fails ends them between two
 * steps: what is behind is as it was. A graceful close of the runtime waits for them. LCI_ERR_ARGUMENT, with a text
 * that says what to do, where the operator does not combine elements of this type, an address is null though `count` is
 * not 0, the destination overlaps an operand, or memory ends before `count` does.
 * @param device one of the graph's runtime (else LCI_ERR_ARGUMENT), which must not belong to a lane (LCI_ERR_DEVICE).
 *        It may be null for LCI_OP_COPY and LCI_OP_REDUCE.
 * @param op template, copied with an inline payload; a buffer must stay valid. Any operation that can be posted except
 *        LCI_OP_CANCEL, and the two above. No packets, which are consumed, and no LCI_FLAG_COMP: its completion object
 *        is the graph.
 */
LCI_API int lci_graph_add_op(lci_graph* graph, lci_device* device, const lci_descriptor* op, void* value,
                             lci_node* out);
/**
 * Tells the runs of ranks apart. From the next run on, the tag of a send or receive node is the node's own tag, of at
 * most 16 bits, with the low 16 bits of the run's number above it. Ranks that exchange messages mark the nodes on both
 * sides, and use the same numbers. So a message of a rank that is ahead, or that comes late, never gets into another
 * run. The node's status has the node's own tag.
 *
 * A marked receive node owns all tags with its low 16 bits that come from its rank to its engine, as long as the graph
 * lives. A send that would be stored there for a run that is over is dropped instead, unless an earlier run is under
 * way; for its sender it has ended as if it had been received. So are those stored already, when a run fails, or gets a
 * number. If several graphs own the same tags, a send is dropped that none of them takes.
 *
 * A long send for a later run that another rank has not begun ends when that rank begins it, or goes on above it. So
 * ranks that agree on a number after a failure do not wait for the ends of their runs before.
 *
 * Ranks may be at most 32,767 runs apart. A send from further ahead is dropped, and the next start answers
 * LCI_ERR_OVERRUN; that graph cannot be run again.
 * @return LCI_ERR_ARGUMENT if the node is no send or receive, has a wildcard or another policy than
 *         LCI_POLICY_RANK_TAG, or goes to an engine made with LCI_ENGINE_KEYED. LCI_ERR_TAG if its tag is above 65,535.
 * LCI_ERR_BUSY while a run is under way.
 */
LCI_API int lci_graph_set_per_run(lci_graph* graph, lci_node node);
/**
 * Lets @p depth runs be under way at once, 1 to LCI_MAX_GRAPH_DEPTH. They take the instances 0 .. depth - 1 in turn, so
 * a run is refused with LCI_ERR_BUSY as long as the one @p depth runs before it is under way, whatever the others are.
 * Each has its own statuses, failure and end. Mark sends and receives by lci_graph_set_per_run(), or runs get each
 * other's messages, and give each instance memory of its own by lci_graph_set_op(); functions share the value of their
 * node.
 *
 * Before the first run, or the answer is LCI_ERR_BUSY.
 */
LCI_API int lci_graph_set_depth(lci_graph* graph, uint32_t depth);
/**
 * Gives the operation of a node other memory in the runs of one instance. LCI_ERR_BUSY while a run is under way.
 * @param node its instance is ignored
 * @param op as given to lci_graph_add_op(), except for payload, buffers, sizes and places of remote memory; else the
 *        answer is LCI_ERR_ARGUMENT.
 */
LCI_API int lci_graph_set_op(lci_graph* graph, lci_node node, uint32_t instance, const lci_descriptor* op);
/** Sets the function that gets the node's value when the graph is freed. */
LCI_API int lci_graph_on_free(lci_graph* graph, lci_node node, lci_value_free_fn function);
/**
 * Adds an edge: @p to fires after @p from. LCI_ERR_ARGUMENT for an edge into START, out of END, from a node to itself,
 * or with a node of another graph.
 * @param function may be null.
 */
LCI_API int lci_graph_add_edge(lci_graph* graph, lci_node from, lci_node to, lci_edge_fn function);
/**
 * Starts a run, with the number of the last one plus one. LCI_POSTED, also when the run is over on return. If a node's
 * function or a handler calls it, the run's nodes fire after that function has returned. LCI_ERR_BUSY while a run is
 * under way, or with a depth above 1 the one that had the same instance. LCI_RETRY_NOMEM, and nothing has begun, if the
 * graph's completion object is a queue without a place for its signal. LCI_ERR_ARGUMENT if the edges make a circle, or
 * if a node would wait for ever for one that no path from START reaches. LCI_ERR_RUN_NUMBER if a run has failed or was
 * cancelled since a number was given, and nodes are marked by lci_graph_set_per_run(): other ranks may be in another
 * run, so only lci_graph_start_run() starts the next one. LCI_ERR_OVERRUN, see lci_graph_set_per_run().
 */
LCI_API int lci_graph_start(lci_graph* graph);
/**
 * The same with a number that the program gives, which all ranks use for this run. The first run may have any number, a
 * later one must be above the last one, by at most 32,767, and by as much above the first that is under way (else
 * LCI_ERR_ARGUMENT). Sends that are stored for marked receive nodes, and have numbers lower than all runs that are
 * under way, are dropped.
 */
LCI_API int lci_graph_start_run(lci_graph* graph, uint64_t number);
/**
 * Answers LCI_DONE when the last run is over, LCI_RETRY while it is under way, else the error that ended it;
 * LCI_ERR_ARGUMENT before the first start. It changes nothing. The graph's completion object is signalled just
 * afterwards, maybe by another thread.
 * @param out may be null; filled when the run is over: code; rank of the failed node's status, and the low 24 bits of
 *        that node as tag; the run's number as size; user_context of the graph.
 */
LCI_API int lci_graph_test(lci_graph* graph, lci_status* out);
/** The same of run @p number. LCI_ERR_ARGUMENT if it was not started, or a later one has its instance. */
LCI_API int lci_graph_test_run(lci_graph* graph, uint64_t number, lci_status* out);
/** Ends all runs under way with LCI_ERR_CANCELLED, as a failure of a node would. LCI_RETRY if there is none. */
LCI_API int lci_graph_cancel(lci_graph* graph);
/** Ends run @p number alone. LCI_RETRY if it is not under way. */
LCI_API int lci_graph_cancel_run(lci_graph* graph, uint64_t number);
/**
 * Completes a function node that answers, or has answered, posted. Any thread, handlers included; from a handler, the
 * nodes after it fire when the handler has returned. A signal that no node waits for is LCI_ERR_OVERRUN and changes
 * nothing.
 * @param status null: done. An error ends the run; its user_context is ignored.
 */
LCI_API int lci_graph_mark_complete(lci_graph* graph, lci_node node, const lci_status* status);
/**
 * Reads the value and the last status of a node; each out-parameter may be null. Functions of nodes that follow it may
 * call this during the run, and everybody after the run. The code is LCI_RETRY if the node never completed.
 * @param node in the instance of the run, see lci_node_in().
 */
LCI_API int lci_graph_node_get(const lci_graph* graph, lci_node node, void** out_value, lci_status* out_status);
/**
 * The number of the run that has, or had last, the instance of @p node. Functions of nodes may ask with the node they
 * are given. LCI_ERR_ARGUMENT if the instance had none.
 */
LCI_API int lci_graph_run_number(const lci_graph* graph, lci_node node, uint64_t* out);
/** The graph as the completion object of operations that its functions post; their user_context names the node. */
LCI_API lci_comp* lci_graph_comp(lci_graph* graph);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Lane
 * The block of memory between one event loop and the core, and the one call that serves it. Java maps the block once
 * and reads and writes it where it lies. Only the thread inside lci_lane_enter() touches it; between two enters it
 * belongs to the loop. All fields are plain little-endian words.
 *
 * Submission: the loop writes descriptors from entry 0 on, sets `submit_count` (entries, continuation entries of inline
 * payloads included) and enters with LCI_ENTER_POST. Every descriptor gets its own outcome; on return `submit_count` is
 * 0 and the whole array is the loop's again.
 *
 * Completion: records [cq_head, cq_tail) modulo the ring size are the loop's. The loop advances cq_head when it has
 * read them, and the core frees their memory at the next enter. Records are never overwritten before that.
 * @{
 */
typedef struct lci_lane lci_lane;

enum {
  LCI_ENTER_POST = 1,     /**< Publish the submitted descriptors. Legal while records are being read. */
  LCI_ENTER_PROGRESS = 2, /**< Control, backlog, arrivals. */
  LCI_ENTER_DRAIN = 4,    /**< Operation completions, then inboxes to their demand. */
  /**
   * This rank leaves: ports that the lane closes from now on, also when it is freed, end with their rank. Messages that
   * others send to them end with LCI_ERR_PEER_LEFT, not with LCI_ERR_PORT_CLOSED, which would mean that sending again
   * may succeed.
   */
  LCI_ENTER_LEAVING = 8
};

/** Control block, at offset LCI_LAYOUT_LANE_CONTROL of the lane. */
typedef struct lci_lane_control {
  /* written by the loop */
  uint32_t flags;        /**< LCI_ENTER_* of the next enter. */
  uint32_t submit_count; /**< Entries in the submission array; more than it has: LCI_ERR_ARGUMENT, nothing is posted. */
  uint32_t cq_head;      /**< Free-running count of records consumed. */
  uint32_t arrival_budget; /**< Messages handled per enter, all devices together; 0: default 64. */
  uint32_t byte_budget;    /**< Payload bytes after which an enter handles no more messages; 0: default 64 KiB. */
  uint32_t reserved0;
  /**
   * While calls of groups are under way, an enter with LCI_ENTER_PROGRESS that posted nothing else takes more passes:
   * until there is a record, an object was signalled, room came back, or nothing has moved for so long; it begins none
   * when 16 times that are over. 0: one pass. More than 1 ms counts as that. The budgets are those of a pass.
   */
  uint64_t spin_ns;
  uint32_t reserved1[8];
  /* written by the core */
  uint32_t cq_tail;       /**< Free-running count of records produced. */
  uint32_t must_enter;    /**< Not 0: the core has work that needs an enter although no doorbell rings. */
  uint32_t in_flight;     /**< Operations posted whose completion was not yet recorded. */
  uint32_t moved;         /**< Work units of the last enter (posts, arrivals, records); 0 means idle. */
  uint64_t next_deadline; /**< Enter no later than this time; 0: none. */
  uint64_t late_wakes;    /**< Parks that timed out although work was published and no wake was attempted; must stay
                               0. */
  uint32_t reserved2[8];
  /**
   * One word per device of the lane. It moves when, after a refusal, packets, ring space, room for replies, or room for
   * puts and gets through messages came back, or a peer has added the device.
   */
  uint32_t generation[LCI_MAX_DEVICES];
  /* packet cache: both sides, never at the same time */
  uint32_t packet_count; /**< Handles in `packets`; the loop takes from the end, the core refills at enters. */
  uint32_t packets[31];  /**< Packet handles that the loop may fill and post with LCI_FLAG_PACKET. */
} lci_lane_control;

/** One attached inbox, 32 bytes, entry i of the demand table. */
typedef struct lci_demand {
  uint64_t requested;   /**< Loop: cumulative demand; to pause, set it to `delivered`. */
  uint64_t delivered;   /**< Core: records written so far. */
  uint32_t port;        /**< Core: port number, 0 when free. */
  uint32_t depth;       /**< Core: messages stored beyond the demand. */
  uint32_t left_behind; /**< Core: messages of ranks that are gone, which wait for room at this port. For a port with
                             parts: those of all parts. */
  uint32_t reserved;
} lci_demand;

typedef enum lci_record_kind {
  LCI_RECORD_PAD = 0,       /**< Skip to the start of the ring. `size` records are skipped, this one included. */
  LCI_RECORD_OP = 1,        /**< An operation of this lane ended: code, rank, tag, size, context. `u.ended` has the
                                 size with 64 bits; `size` the same, or its largest value. With
                                 LCI_RECORD_FLAG_RECEIVED also the memory of the message. */
  LCI_RECORD_MESSAGE = 2,   /**< A message for inbox `index`. */
  LCI_RECORD_WRITABLE = 3,  /**< Flow (device index, rank, port) was refused and has room: `context` messages; for a
                                 flow of sends LCI_RECORD_FLAG_ENGINE is set and `port` is the engine. */
  LCI_RECORD_PEER = 4,      /**< Rank changed state: `context` is an ::lci_peer_state, code the error that it means.
                                 Recorded for each device of the lane, `index`. */
  LCI_RECORD_PORT = 5,      /**< Port `port` of `rank` refuses: code says closed or mismatch; LCI_DONE: open again.
                                 With LCI_RECORD_FLAG_ENGINE: a matching engine. */
  LCI_RECORD_SYNC = 6,      /**< Synchronizer with id `context` >> 32 fired: one record per status, `index` counts down
                                 to 0. The low 32 bits of context are those of the operation's user_context above the
                                 comp id. `port`: of an arrival, else 0. */
  LCI_RECORD_COUNTER = 7,   /**< Counter with id `context` >> 32 reached a new value, in `tag`. */
  LCI_RECORD_HOST_NODE = 8, /**< The loop must run host node `rank`. Low half of `context`: the graph's id, high
                                 half: the run; `tag`: user_context of the graph. */
  LCI_RECORD_GRAPH = 9      /**< A run is over: code; `context` and `tag` as above. After a failure `rank` is the
                                 node that failed first, or 0 if the run was cancelled. */
} lci_record_kind;

enum {
  LCI_RECORD_FLAG_ADDRESS = 1, /**< Payload at u.address, valid until cq_head passes this record. */
  LCI_RECORD_FLAG_ENGINE = 2,  /**< `port` is a matching engine. */
  LCI_RECORD_FLAG_LOAN = 4,    /**< The message may be retained where it lies; `context` is its number. */
  /**
   * The loop sets it before cq_head passes the record of a message that it retains: the payload stays valid, and is
   * charged to its port, until LCI_OP_RELEASE with its number, or lci_lane_free().
   */
  LCI_RECORD_FLAG_KEPT = 8,
  /**
   * The message of a receive was longer than its buffer: it lies at `u.ended.received`, which the loop frees by
   * lci_buffer_free().
   */
  LCI_RECORD_FLAG_RECEIVED = 16
};

/**
 * A completion record, 64 bytes. An inline payload starts at byte 32 and continues in the following records. It
 * occupies 1 + ceil(max(0, size - 32) / 64) records.
 */
typedef struct lci_record {
  uint8_t kind;   /**< ::lci_record_kind */
  uint8_t flags;  /**< LCI_RECORD_FLAG_* */
  uint16_t code;  /**< ::lci_code */
  uint32_t rank;  /**< Peer, source. */
  uint16_t port;  /**< Port number. */
  uint16_t index; /**< MESSAGE: index in the demand table. WRITABLE, PEER, PORT: device index in the lane. */
  uint32_t size;  /**< Payload bytes. */
  uint64_t tag;
  uint64_t context; /**< OP: user_context. MESSAGE with LCI_RECORD_FLAG_LOAN: its number. */
  union {
    uint8_t inline_payload[32];
    uint64_t address;
    struct {
      uint64_t size;
      uint64_t received;
    } ended; /**< OP. */
  } u;
} lci_record;

/** Messages up to this size travel inside descriptors, ring slots and records. */
#define LCI_INLINE_MAX 192u

/**
 * Creates a lane that owns devices first .. first + count - 1 of the runtime; lci_post() and lci_progress() can no
 * longer use them. Every lane gets the peer events: one LCI_RECORD_PEER for each of its devices, when that device has
 * delivered everything that the peer had sent. The call waits until no thread is inside those devices, so it is refused
 * in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT), as parking and freeing a lane are.
 */
LCI_API int lci_lane_create(lci_runtime* runtime, uint32_t first_device, uint32_t device_count, lci_lane** out);
/** Address and length of the lane's block. It is never unmapped while the process lives. */
LCI_API int lci_lane_memory(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length);
/**
 * Address and length of the doorbell area of this rank. At offset lci_lane_park_offset() lies the 32-bit park word of
 * the lane (0 running, 1 announced). At lci_lane_summary_offset(i) lies the summary of the lane's i-th device: one byte
 * per sending rank, not 0 when something may have arrived. The byte of this rank itself also stands for work that
 * another thread left here.
 */
LCI_API int lci_lane_doorbell(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length);
/* Both: 0 for null, or for a device that the lane does not have. */
LCI_API uint64_t lci_lane_park_offset(const lci_lane* lane);
LCI_API uint64_t lci_lane_summary_offset(const lci_lane* lane, uint32_t device_index);
/**
 * Serves the lane once, in this order, each step within its budget: free consumed records, publish submitted
 * descriptors, control traffic, backlog, arrivals, completions.
 * @return LCI_DONE if anything moved, LCI_RETRY if nothing did, LCI_ERR_BUSY when another thread is inside,
 *         LCI_ERR_ARGUMENT when `submit_count` is beyond the array.
 */
LCI_API int lci_lane_enter(lci_lane* lane);
/**
 * Progresses the devices of a lane whose own thread is elsewhere, once and with a budget of 32 messages. Any thread may
 * call, except in handlers and custom objects (LCI_ERR_SIGNAL_CONTEXT), and not while the lane is being freed. Credit,
 * packets, long messages, and gets that peers ask for move. A message to a port of another lane or completion object
 * arrives there, and handlers run on the calling thread. A message to this lane, or the end of one of its operations,
 * waits for the lane's next enter. The block of the lane is neither read nor written. An enter that begins meanwhile
 * waits for the end of the pass.
 * @return LCI_DONE if anything moved; LCI_RETRY if nothing did, or if a thread is inside the lane: entered, parked, or
 *         helping.
 */
LCI_API int lci_lane_help(lci_lane* lane);
/**
 * Parks the loop's thread. The loop first stores 1 in the park word (with a full fence), looks at its own queues, and
 * then calls this function. The function looks at everything native again and sleeps until a wake, @p timeout_ns, or 50
 * ms. On return the park word is 0.
 * @return LCI_DONE when woken or when there was work, LCI_RETRY on time-out.
 */
LCI_API int lci_lane_park(lci_lane* lane, uint64_t timeout_ns);
/**
 * Wakes a parked lane; any thread. It is cheap when the lane runs; callers may skip it when the park word is 0 (after a
 * full fence).
 */
LCI_API void lci_lane_wake(lci_lane* lane);
/** Frees the lane. Its ports are closed, its operations are forgotten, and others may use its devices again. */
LCI_API int lci_lane_free(lci_lane* lane);

/**
 * Opens port @p number with this lane as its home: messages become LCI_RECORD_MESSAGE records as far as the demand
 * entry allows. The loop's thread must call it, outside enter.
 * @param out_index index in the demand table.
 * @param out_base,out_length memory where payloads above LCI_INLINE_MAX are stored, for mapping once; a record's
 *        address lies there unless the message is larger than the port's bytes.
 */
LCI_API int lci_lane_open_port(lci_lane* lane, uint32_t number, const char* name, uint32_t messages, uint64_t bytes,
                               uint32_t* out_index, uint64_t* out_base, uint64_t* out_length);
/**
 * As lci_lane_open_port(), for one of several parts of a port, so that several loops take its messages. A message goes
 * to the part `tag modulo parts`, whichever device it came to. Each part is attached by its own lane, in any order; the
 * port opens, and grants credit, when the last part is attached. All parts share the port's capacity, which is @p
 * messages and @p bytes of the part that comes last. Closing a part closes the port; the other parts then deliver the
 * messages that they stored until they are closed too.
 * @param part,parts which one, and how many there are: 1..LCI_MAX_PORT_PARTS, the same for each.
 * @return LCI_ERR_PORT when the port is open, or is being opened with this part, another number of parts or another
 *         name.
 */
LCI_API int lci_lane_open_part(lci_lane* lane, uint32_t number, const char* name, uint32_t part, uint32_t parts,
                               uint32_t messages, uint64_t bytes, uint32_t* out_index, uint64_t* out_base,
                               uint64_t* out_length);
/**
 * Sets whether messages of an attached port may be retained where they lie (LCI_RECORD_FLAG_LOAN). Messages that travel
 * in a packet are then left in it, as lci_comp_zero_copy() says. Long messages (rendezvous) have memory of their own
 * anyway. Short messages, and those that had to be stored after all, are copied and may not be retained. Off at first;
 * it holds for messages that come from now on. The loop's thread must call it, outside enter.
 */
LCI_API int lci_lane_zero_copy(lci_lane* lane, uint32_t index, int on);
/**
 * As lci_device_fence(), for the device @p device_index of a lane. The loop's thread must call it, and the three
 * functions below, outside enter.
 */
LCI_API int lci_lane_fence(lci_lane* lane, uint32_t device_index, uint64_t* out_fence);
/** As lci_device_fence_passed(). Operations move in lci_lane_enter(): look after each. */
LCI_API int lci_lane_fence_passed(lci_lane* lane, uint32_t device_index, uint64_t fence);
/**
 * How far this rank has written to @p rank over a device of the lane. After a fence was passed, all that was posted
 * before it to that rank lies before this position, and lci_lane_delivered() tells that rank when it has all of it.
 * @return LCI_DONE, or LCI_RETRY if nothing was ever written to it, or if it is gone.
 */
LCI_API int lci_lane_sent(lci_lane* lane, uint32_t device_index, uint32_t rank, uint32_t* out_position);
/**
 * Whether all that @p rank had written to this rank over its device @p device_index of that number before @p position
 * is where it belongs: in its inbox, queue, matching engine or memory. A position is compared modulo 2^32.
 * @return LCI_DONE; LCI_RETRY: not yet; LCI_ERR_PEER_LEFT or LCI_ERR_PEER_FAILED: the rank is gone, and everything that
 *         came of it was delivered.
 */
LCI_API int lci_lane_delivered(lci_lane* lane, uint32_t device_index, uint32_t rank, uint32_t position);
/** Closes an attached port. Records already written stay valid until consumed, retained messages until released. */
LCI_API int lci_lane_close_port(lci_lane* lane, uint32_t index);
/**
 * Creates a synchronizer whose firings are recorded on this lane (LCI_RECORD_SYNC); any thread may signal it. Behind a
 * port it takes messages without their payload.
 */
LCI_API int lci_lane_synchronizer_create(lci_lane* lane, uint32_t threshold, lci_comp** out);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Graphs of a lane
 * A completion graph uploaded as one table. Its operations go over the lane's devices. The loop runs its host nodes:
 * each is recorded once per run (LCI_RECORD_HOST_NODE), and the loop answers by a descriptor (LCI_OP_NODE_DONE,
 * LCI_OP_NODE_FAILED). LCI_OP_GRAPH_START starts a run; the end of each run is recorded (LCI_RECORD_GRAPH). Nodes are
 * numbered: 0 is START, 1 is END, table entry i is i + 2. All calls belong to the loop's thread.
 *
 * lci_lane_free() cancels runs under way and forgets their operations, as it does with the lane's own; nothing of them
 * is recorded any more.
 * @{
 */
typedef enum lci_node_kind {
  LCI_NODE_DUMMY = 0, /**< Completes when it fires. */
  LCI_NODE_OP = 1,    /**< Operation `op`. */
  LCI_NODE_HOST = 2,  /**< Run by the loop. */
  /** Operation `op`, with the number of the run in its tag: see lci_graph_set_per_run(). */
  LCI_NODE_OP_PER_RUN = 3
} lci_node_kind;

typedef struct lci_graph_node {
  uint32_t kind; /**< ::lci_node_kind */
  uint32_t op;   /**< For an operation: index of its first entry in the array of descriptors. */
} lci_graph_node;

typedef struct lci_graph_edge {
  uint32_t from; /**< Node number. */
  uint32_t to;
} lci_graph_edge;

/**
 * Uploads a graph; everything is copied but the buffers of operations. Wiring errors are those of lci_graph_add_edge()
 * and lci_graph_start(), found here. The operations are those of lci_graph_add_op(), `device` as in the lane.
 * @param op_count entries in @p ops, continuations of inline payloads included.
 * @param user_context comes back as the tag of the graph's records.
 * @param out_id names the graph in descriptors and records.
 */
LCI_API int lci_lane_graph_create(lci_lane* lane, const lci_graph_node* nodes, uint32_t node_count,
                                  const lci_graph_edge* edges, uint32_t edge_count, const lci_descriptor* ops,
                                  uint32_t op_count, uint64_t user_context, uint32_t* out_id);
/** LCI_ERR_BUSY while a run is under way. */
LCI_API int lci_lane_graph_free(lci_lane* lane, uint32_t id);
/** As lci_graph_cancel(): the end is recorded. The loop must still answer a host node that was recorded. */
LCI_API int lci_lane_graph_cancel(lci_lane* lane, uint32_t id);
/** Copies the last statuses of nodes @p first .. @p first + @p count - 1, as lci_graph_node_get() gives one. */
LCI_API int lci_lane_graph_statuses(lci_lane* lane, uint32_t id, uint32_t first, uint32_t count, lci_status* out);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/**
 * @name Layout
 * Version, sizes and offsets of everything shared, for the check at load.
 * @{
 */
typedef enum lci_layout_id {
  LCI_LAYOUT_ABI = 0,
  LCI_LAYOUT_DESCRIPTOR_SIZE,
  LCI_LAYOUT_DESCRIPTOR_OUTCOME,
  LCI_LAYOUT_DESCRIPTOR_RANK,
  LCI_LAYOUT_DESCRIPTOR_PORT,
  LCI_LAYOUT_DESCRIPTOR_DEVICE,
  LCI_LAYOUT_DESCRIPTOR_POLICY,
  LCI_LAYOUT_DESCRIPTOR_SIZE_FIELD,
  LCI_LAYOUT_DESCRIPTOR_TAG,
  LCI_LAYOUT_DESCRIPTOR_CONTEXT,
  LCI_LAYOUT_DESCRIPTOR_PAYLOAD,
  LCI_LAYOUT_RECORD_SIZE,
  LCI_LAYOUT_RECORD_CODE,
  LCI_LAYOUT_RECORD_RANK,
  LCI_LAYOUT_RECORD_PORT,
  LCI_LAYOUT_RECORD_INDEX,
  LCI_LAYOUT_RECORD_SIZE_FIELD,
  LCI_LAYOUT_RECORD_TAG,
  LCI_LAYOUT_RECORD_CONTEXT,
  LCI_LAYOUT_RECORD_PAYLOAD,
  LCI_LAYOUT_CONTROL_OFFSET,
  LCI_LAYOUT_CONTROL_SPIN_NS,
  LCI_LAYOUT_CONTROL_CQ_TAIL,
  LCI_LAYOUT_CONTROL_GENERATION,
  LCI_LAYOUT_CONTROL_PACKET_COUNT,
  LCI_LAYOUT_DEMAND_OFFSET,
  LCI_LAYOUT_DEMAND_SIZE,
  LCI_LAYOUT_DEMAND_COUNT,
  LCI_LAYOUT_SUBMISSION_OFFSET,
  LCI_LAYOUT_SUBMISSION_COUNT, /**< Entries, without the slack for one inline payload that follows them. */
  LCI_LAYOUT_COMPLETION_OFFSET,
  LCI_LAYOUT_COMPLETION_COUNT, /**< The default; a runtime's own is its attribute lane_completions. */
  LCI_LAYOUT_INLINE_MAX,
  LCI_LAYOUT_PACKET_UNIT,    /**< Handle times this is the packet's offset in the arena. */
  LCI_LAYOUT_PACKET_PAYLOAD, /**< Offset of the payload in a packet. */
  LCI_LAYOUT_COUNT
} lci_layout_id;
/** Writes up to @p count values, indexed by ::lci_layout_id; returns LCI_LAYOUT_COUNT. */
LCI_API uint32_t lci_layout(uint64_t* out, uint32_t count);
/** Payload bytes of a packet of this runtime: the largest eager message. */
LCI_API uint32_t lci_runtime_max_eager(const lci_runtime* runtime);
/** @} */

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LCI_LCI_H_ */
