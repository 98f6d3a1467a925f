/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci.h
 * The C ABI of the LCI core: the only header that other modules include.
 *
 * Rules that hold for every function:
 * - It returns an ::lci_code or nothing at all; values come back through out-parameters. No exception, no signal
 *   handler, no thread of its own, and never a call into the JVM. Function pointers are for native users only.
 * - Arguments are checked always and cheaply. After an error, lci_last_error() holds one line for the calling thread:
 *   what failed, operation, rank, device, code, and what to do.
 * - Nothing progresses inside a post. Progress is explicit: lci_progress() or lci_lane_enter().
 * - All sizes are in bytes, all times in nanoseconds of CLOCK_MONOTONIC unless the name says otherwise.
 *
 * Numbers in brackets such as [X2] name rows of the project's specification.
 */
#ifndef LCI_LCI_H_
#define LCI_LCI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LCI_API __attribute__((visibility("default")))

/** Changes whenever a structure, an offset or the meaning of a call changes. Compared by bindings at load. */
#define LCI_ABI_VERSION 1

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Codes
 * The answer of every call and the outcome of every descriptor. Four categories [D1]: done, posted, retry, error.
 * @{ */

typedef enum lci_code {
  /** Finished now. The completion object is not signalled; buffers are the caller's again. [D2] */
  LCI_DONE = 0,
  /** As done: the payload was copied into the backlog. [D3] */
  LCI_DONE_BACKLOG = 1,
  /** Accepted; exactly one signal follows. The buffer stays in use until then. [D4] */
  LCI_POSTED = 2,
  /** As posted; waits in the backlog. [D5] */
  LCI_POSTED_BACKLOG = 3,

  /** Nothing happened; resubmit. Generic form, and the value of an untouched status. [D6, D7] */
  LCI_RETRY = 16,
  /** A try-lock was held by another thread: try again soon. [D8] */
  LCI_RETRY_LOCK = 17,
  /** No packet was free: progress, and give packets back. Ends the pass of the device. [D9] */
  LCI_RETRY_NOPACKET = 18,
  /** The ring towards that rank is full: progress. [D10] */
  LCI_RETRY_NOMEM = 19,
  /** Operations to that rank wait in the backlog; order is kept behind them. [D11] */
  LCI_RETRY_BACKLOG = 20,
  /** The receiver has granted no room: it is the slow party. [2B-45] */
  LCI_RETRY_NOCREDIT = 21,
  /** Too many operations are in flight on this lane; completions make room. [2B-45] */
  LCI_RETRY_PENDING = 22,
  /** An earlier descriptor of the same key in this batch was refused; this one was not attempted. [V1] */
  LCI_RETRY_ORDER = 23,

  LCI_ERR_ARGUMENT = 32,       /**< Null handle, bad flag combination, unknown operation. */
  LCI_ERR_RANK = 33,           /**< Rank outside 0..size-1. */
  LCI_ERR_TAG = 34,            /**< Tag outside what the operation can carry. [C15, SS-14] */
  LCI_ERR_SIZE = 35,           /**< Size outside what the payload form can carry. */
  LCI_ERR_PORT = 36,           /**< Port number outside 1..32767, or already open. */
  LCI_ERR_DEVICE = 37,         /**< Device index not attached, or owned by a lane. */
  LCI_ERR_PORT_CLOSED = 40,    /**< The receiver closed the port. [X13] */
  LCI_ERR_PORT_MISMATCH = 41,  /**< The receiver gave this port number another name. [2B-42] */
  LCI_ERR_PEER_FAILED = 42,    /**< The peer died. */
  LCI_ERR_PEER_LEFT = 43,      /**< The peer announced its departure. */
  LCI_ERR_TRUNCATED = 44,      /**< The message was longer than the receive buffer; the rest was dropped. [SS-29] */
  LCI_ERR_CANCELLED = 45,      /**< Cancelled, or outstanding when the runtime closed. [2B-10] */
  LCI_ERR_CLOSED = 46,         /**< The runtime or object is closed. */
  LCI_ERR_EXHAUSTED = 47,      /**< A bound was met and retry was disallowed. [X9] */
  LCI_ERR_NO_MEMORY = 48,      /**< The system, or the container's limit, has no memory left. */
  LCI_ERR_TIMEOUT = 49,        /**< A deadline passed; the text names who was missing. */
  LCI_ERR_BUSY = 50,           /**< Another thread is inside this lane. [V7] */
  LCI_ERR_SIGNAL_CONTEXT = 51, /**< Progress or a blocking form was called from a handler. [SS-47] */
  LCI_ERR_BOOTSTRAP = 52,      /**< The ranks could not find each other. */
  LCI_ERR_UNSUPPORTED = 53,    /**< Not available on this machine or in this build; the text says why. */
  LCI_ERR_PROTOCOL = 54,       /**< A peer sent bytes that make no sense; it is treated as failed. */
  LCI_ERR_OVERRUN = 55,        /**< More signals than the synchronizer or queue has room for. [SS-41, SS-45] */
  LCI_ERR_ATTRIBUTE = 56       /**< Unknown attribute name, or a value out of range. [2B-53] */
} lci_code;

/** Name of a code, for example "retry_nocredit"; "unknown" for anything else. Never null. [D13] */
LCI_API const char* lci_code_name(int code);
/** Text of the last error of the calling thread; empty if none. Valid until the thread's next failing call. [U1] */
LCI_API const char* lci_last_error(void);
/** Rank that the last error of the calling thread is about, or -1: where there is no status to say it, as when a job
 * cannot be joined. Valid as lci_last_error(). */
LCI_API int lci_last_error_rank(void);
/** Library version "major.minor.patch". */
LCI_API const char* lci_version(void);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Attributes
 * A set of named values. Precedence: a value set here, then environment LCI_ATTR_<NAME IN CAPITALS> (read when a
 * runtime is created), then the default. An unknown name or a bad value is an error. [A6, 2B-53]
 * @{ */

typedef struct lci_attrs lci_attrs;
LCI_API int lci_attrs_create(lci_attrs** out);
LCI_API void lci_attrs_free(lci_attrs* attrs);
/** Sets one attribute from text: LCI_ERR_ATTRIBUTE if the name is unknown or the value does not parse. */
LCI_API int lci_attrs_set(lci_attrs* attrs, const char* name, const char* value);
/**
 * Says that environment LCI_ATTR_<NAME> is an option of the program's own, which it reads itself: the core does not
 * call it unknown. @p name is in small letters, as those of attributes are.
 */
LCI_API int lci_attrs_own(lci_attrs* attrs, const char* name);
/** Name of attribute @p index, or null past the end: a way to list all. */
LCI_API const char* lci_attr_name(uint32_t index);
/** Default of attribute @p index as text. */
LCI_API const char* lci_attr_default(uint32_t index);
/** One sentence on attribute @p index. */
LCI_API const char* lci_attr_help(uint32_t index);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Runtime
 * @{ */

typedef struct lci_runtime lci_runtime;
/** A job whose ranks are runtimes of this process: bootstrap "inproc". [2B-35] */
typedef struct lci_inproc lci_inproc;

LCI_API int lci_inproc_create(uint32_t size, lci_inproc** out);
/** Drops the caller's reference; runtimes of the job hold their own. */
LCI_API void lci_inproc_free(lci_inproc* job);

/**
 * Creates a runtime and joins the job. Blocks until every rank has arrived, or the attribute bootstrap_timeout_ms
 * passes (LCI_ERR_TIMEOUT, naming the missing ranks). [A2, L7]
 * @param attrs may be null: defaults and environment only. Not kept.
 * @param job null: the bootstrap chain decides (file when LCI_JOB_DIR is set by the launcher, else local: rank 0 of 1).
 * @param inproc_rank rank in @p job; ignored when @p job is null.
 */
LCI_API int lci_runtime_create(const lci_attrs* attrs, lci_inproc* job, uint32_t inproc_rank, lci_runtime** out);
/**
 * Leaves the job and frees everything. Graceful with @p timeout_ms > 0: drives progress of its devices until what was
 * posted has left or the time is over, announces departure (peers see LEFT). Abortive with 0. Outstanding operations
 * are signalled LCI_ERR_CANCELLED before their objects go. Never hangs. Lanes must be freed first. [2B-10, L5]
 */
LCI_API int lci_runtime_close(lci_runtime* runtime, uint32_t timeout_ms);
LCI_API uint32_t lci_runtime_rank(const lci_runtime* runtime);
LCI_API uint32_t lci_runtime_size(const lci_runtime* runtime);
/** Effective value of an attribute as text (after clamping). [A7] */
LCI_API int lci_runtime_attr(const lci_runtime* runtime, const char* name, char* out, size_t out_size);

typedef enum lci_peer_state { LCI_PEER_ALIVE = 0, LCI_PEER_LEFT = 1, LCI_PEER_FAILED = 2 } lci_peer_state;
LCI_API int lci_runtime_peer(const lci_runtime* runtime, uint32_t rank, int32_t* out_state);

/**
 * Copies the counters, all at once and without a lock; they are always on. Entry i is named by lci_counter_name(i).
 * @return how many there are; at most @p count are written. [M1, 2B-49]
 */
LCI_API uint32_t lci_runtime_snapshot(const lci_runtime* runtime, uint64_t* out, uint32_t count);
LCI_API const char* lci_counter_name(uint32_t index);

/**
 * What this machine offers: lines of "key<TAB>value" (version, transports and why one is unavailable, memlock limit,
 * memory available, membarrier, process_vm_readv, cpu count). Needs no runtime.
 * @return bytes needed including the terminator.
 */
LCI_API size_t lci_info(char* out, size_t out_size);

/** Base and reserved length of this rank's shared arena: packets (see ::lci_layout_id LCI_LAYOUT_PACKET_*) live at
 * base + 64 * handle. The range is never unmapped while the process lives: on close it becomes anonymous. [V15] */
LCI_API int lci_runtime_arena(const lci_runtime* runtime, uint64_t* out_base, uint64_t* out_length);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Devices
 * Device k of a rank talks to device k of every other rank. A device is used by any thread through try-locks
 * (retry_lock), or belongs to one lane, which then uses no atomic read-modify-write per message. [B1, A19]
 * @{ */
typedef struct lci_device lci_device;
/** Device @p index of the runtime (0 .. attribute "devices" - 1). All ranks have the same number. */
LCI_API int lci_runtime_device(lci_runtime* runtime, uint32_t index, lci_device** out);
/** Moves control traffic, backlog and arrivals: LCI_DONE if anything moved, else LCI_RETRY. [C19, H12] */
LCI_API int lci_progress(lci_device* device);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Completion objects
 * @{ */

/** What a completion object receives. For a local completion rank is the peer; for an arrival, the source. [D15] */
typedef struct lci_status {
  int32_t code;          /**< LCI_DONE or an error. */
  uint32_t rank;         /**< Peer or source. */
  uint64_t tag;          /**< As posted, or as received. */
  void* buffer;          /**< Arrivals: owned by the receiver, see lci_buffer_free(). Local: as posted. */
  uint64_t size;         /**< Bytes moved. */
  uint64_t user_context; /**< As posted; 0 for arrivals. [C14] */
  uint32_t port;         /**< Arrivals: the port; else 0. */
  uint32_t reserved;
} lci_status;

typedef struct lci_comp lci_comp;
typedef void (*lci_handler_fn)(const lci_status* status, void* argument);

/** Multi-producer multi-consumer queue on a fetch-and-add array; holds at most @p capacity. [E6, E8] */
LCI_API int lci_queue_create(lci_runtime* runtime, uint32_t capacity, lci_comp** out);
/** LCI_DONE and a status, or LCI_RETRY when empty. Never blocks, never progresses. [H10] */
LCI_API int lci_queue_pop(lci_comp* queue, lci_status* out);
/** Pops up to @p count; returns how many. [E10] */
LCI_API uint32_t lci_queue_pop_many(lci_comp* queue, lci_status* out, uint32_t count);
LCI_API uint64_t lci_queue_length(const lci_comp* queue);
/** Becomes ready after @p threshold signals. [E2] */
LCI_API int lci_synchronizer_create(lci_runtime* runtime, uint32_t threshold, lci_comp** out);
/** LCI_DONE once per firing, copying threshold statuses in arrival order (@p out may be null), then reset; else
 * LCI_RETRY. LCI_ERR_OVERRUN after more signals than the threshold since the last firing was taken. [E2-E4, SS-41..43]
 */
LCI_API int lci_synchronizer_test(lci_comp* synchronizer, lci_status* out);
LCI_API int lci_counter_create(lci_runtime* runtime, lci_comp** out);
LCI_API uint64_t lci_counter_get(const lci_comp* counter);
LCI_API void lci_counter_set(lci_comp* counter, uint64_t value);
/** Called by whichever thread progresses; must be short and thread-safe; the status's buffer is valid only during the
 * call. It may post with retry disallowed; it may not progress. [E11, SS-46, SS-47] */
LCI_API int lci_handler_create(lci_runtime* runtime, lci_handler_fn function, void* argument, lci_comp** out);
/** Signals any object with a done or error status. [E5, SS-44] */
LCI_API int lci_comp_signal(lci_comp* comp, const lci_status* status);
/** Identifier of the object in descriptors (LCI_FLAG_COMP) and records. */
LCI_API uint32_t lci_comp_id(const lci_comp* comp);
/** Frees the object, and the arrivals in it that nobody took; what is not freed goes with its runtime. It must not be
 * bound to an open port nor to a pending operation: LCI_ERR_BUSY. [B26] */
LCI_API int lci_comp_free(lci_comp* comp);
/** Frees the buffer of an arrival popped from a queue or synchronizer. Null is allowed. [SS-20] */
LCI_API void lci_buffer_free(void* buffer);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Ports
 * What LCI calls a remote completion handle, with the completion object behind it. Numbers 1..32767 are the user's. A
 * port that is not open grants nothing: early senders see nocredit, no message is lost. [X12, 2B-42]
 * @{ */

/**
 * Opens port @p number on this rank with @p comp behind it.
 * @param name checked against the senders' name for the same number; "" matches any.
 * @param messages,bytes capacity: at most so much is stored or granted; 0 means the defaults. Handlers and counters
 *        store nothing and need no credit. A queue's own capacity bounds the messages too; one that serves several
 *        ports, or takes completions as well, must have room for all of them. [X2, X5]
 */
LCI_API int lci_port_open(lci_runtime* runtime, uint32_t number, const char* name, lci_comp* comp, uint32_t messages,
                          uint64_t bytes);
/** Names a port for sending, so that a mismatch is found before the first message is delivered. Optional. */
LCI_API int lci_port_name(lci_runtime* runtime, uint32_t number, const char* name);
/** Closes the port: senders get LCI_ERR_PORT_CLOSED, queued messages are discarded and counted; it may be reopened.
 * [X13] */
LCI_API int lci_port_close(lci_runtime* runtime, uint32_t number);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Posting
 * @{ */

typedef enum lci_op_kind {
  LCI_OP_AM = 1,      /**< Active message to (rank, port). */
  LCI_OP_SEND = 2,    /**< Matched send to (rank, engine). */
  LCI_OP_RECV = 3,    /**< Matched receive from (rank or LCI_ANY_SOURCE, engine). */
  LCI_OP_BARRIER = 4, /**< Dissemination barrier over all ranks, numbered by posting order. Always posted. */
  LCI_OP_CANCEL = 5   /**< Cancels the unmatched receive whose user_context is `tag`. */
} lci_op_kind;

/** Rank of a receive that matches any source (the sender must use LCI_POLICY_TAG or LCI_POLICY_NONE). [C11, SS-12] */
#define LCI_ANY_SOURCE 0xFFFFFFFFu
/** Tag of a receive that matches any tag (the sender must use LCI_POLICY_RANK or LCI_POLICY_NONE). */
#define LCI_ANY_TAG 0xFFFFFFFFFFFFFFFFull
/** Largest tag of send and receive; active messages carry 64 bits. [C15] */
#define LCI_MAX_TAG 0xFFFFFFFFull
/** Largest port number. */
#define LCI_MAX_PORT 32767u

/** What a send and a receive compare; both sides must choose the same. A wildcard receive overrides its policy. */
typedef enum lci_policy {
  LCI_POLICY_RANK_TAG = 0,
  LCI_POLICY_RANK = 1,
  LCI_POLICY_TAG = 2,
  LCI_POLICY_NONE = 3
} lci_policy;

enum {
  /** Payload is inside the descriptor, from byte 32 on, continuing in the following entries; at most 192 bytes. */
  LCI_FLAG_INLINE = 0,
  /** `address` is a packet handle of this runtime. Taken over on done and posted, kept by the caller on retry and
   * error. [B13, SS-22] */
  LCI_FLAG_PACKET = 1,
  /** `address` is memory that stays valid until done or the signal. */
  LCI_FLAG_BUFFER = 2,
  LCI_FLAG_PAYLOAD_MASK = 3,
  /** Signal even if finished at once: done becomes posted (allow_done = false). [C8, SS-9] */
  LCI_FLAG_SIGNAL = 4,
  /** Do not answer retry: use the backlog; LCI_ERR_EXHAUSTED at its bound (allow_retry = false). [X9] */
  LCI_FLAG_NO_RETRY = 8,
  /** The low 32 bits of user_context name a completion object of this runtime to signal instead of the lane. */
  LCI_FLAG_COMP = 16
};

/**
 * One operation, 64 bytes: what lanes hold in their submission array, and what lci_post() takes. Little-endian, no
 * padding; offsets are part of the ABI (see lci_layout()).
 */
typedef struct lci_descriptor {
  uint8_t op;            /**< ::lci_op_kind */
  uint8_t flags;         /**< LCI_FLAG_* */
  uint16_t outcome;      /**< Written by the core: an ::lci_code. */
  uint32_t rank;         /**< Peer. */
  uint16_t port;         /**< AM: port number; send and receive: matching engine (0 is the default). */
  uint8_t device;        /**< Lane: index among the lane's devices; lci_post(): ignored. */
  uint8_t policy;        /**< ::lci_policy */
  uint32_t size;         /**< Payload bytes, or the length of the receive buffer. */
  uint64_t tag;          /**< Tag. */
  uint64_t user_context; /**< Comes back in the completion. */
  union {
    uint8_t inline_payload[32];
    struct {
      uint64_t address; /**< LCI_FLAG_PACKET: handle; LCI_FLAG_BUFFER: memory. */
      uint64_t reserved[3];
    } ref;
  } u;
} lci_descriptor;

/**
 * Posts one operation through a device that no lane owns.
 * @param op LCI_FLAG_INLINE entries must be contiguous with their payload.
 * @param comp signalled when the answer is posted; may be null only for operations that cannot be posted (inline and
 *        packet AM and send without LCI_FLAG_SIGNAL), or with LCI_FLAG_COMP.
 * @param out filled on done; may be null.
 */
LCI_API int lci_post(lci_device* device, lci_descriptor* op, lci_comp* comp, lci_status* out);
/** Active message; thin form of lci_post(). [C1] */
LCI_API int lci_post_am(lci_device* device, uint32_t rank, uint32_t port, uint64_t tag, const void* buffer,
                        uint32_t size, lci_comp* comp, uint64_t user_context);
LCI_API int lci_post_send(lci_device* device, uint32_t rank, uint64_t tag, const void* buffer, uint32_t size,
                          lci_comp* comp, uint64_t user_context);
LCI_API int lci_post_recv(lci_device* device, uint32_t rank, uint64_t tag, void* buffer, uint32_t size, lci_comp* comp,
                          uint64_t user_context, lci_status* out);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Lane
 * The block of memory between one event loop and the core, and the one call that serves it [V1-V11]. Java maps the
 * block once and reads and writes it in place. Only the thread inside lci_lane_enter() touches it; between two enters
 * it belongs to the loop. All fields are plain little-endian words.
 *
 * Submission: the loop writes descriptors from entry 0 on, sets `submit_count` (entries, continuation entries of inline
 * payloads included) and enters with LCI_ENTER_POST. Every descriptor gets its own outcome; on return `submit_count` is
 * 0 and the whole array is the loop's again.
 *
 * Completion: records [cq_head, cq_tail) modulo the ring size are the loop's; it advances cq_head when it has read
 * them, and the core frees what they held at the next enter. Records are never overwritten before that.
 * @{ */
typedef struct lci_lane lci_lane;

enum {
  LCI_ENTER_POST = 1,     /**< Publish what is submitted. Legal while records are being read. [V6] */
  LCI_ENTER_PROGRESS = 2, /**< Control, backlog, arrivals. */
  LCI_ENTER_DRAIN = 4     /**< Operation completions, then inboxes to their demand. */
};

/** Control block, at offset LCI_LAYOUT_LANE_CONTROL of the lane. */
typedef struct lci_lane_control {
  /* written by the loop */
  uint32_t flags;          /**< LCI_ENTER_* of the next enter. */
  uint32_t submit_count;   /**< Entries in the submission array. */
  uint32_t cq_head;        /**< Free-running count of records consumed. */
  uint32_t arrival_budget; /**< Messages handled per enter; 0: default 64. */
  uint32_t byte_budget;    /**< Payload bytes copied per enter; 0: default 64 KiB. */
  uint32_t reserved0;
  uint64_t spin_ns; /**< Poll for so long when the enter would return with nothing. */
  uint32_t reserved1[8];
  /* written by the core */
  uint32_t cq_tail;       /**< Free-running count of records produced. */
  uint32_t must_enter;    /**< Not 0: the core has work that needs an enter although no doorbell rings. */
  uint32_t in_flight;     /**< Operations posted whose completion was not yet recorded. */
  uint32_t moved;         /**< Work units of the last enter (posts, arrivals, records); 0 means idle. */
  uint64_t next_deadline; /**< Enter no later than this time; 0: none. */
  uint64_t late_wakes;    /**< Parks that timed out over published work with no wake attempted; must stay 0. [V11] */
  uint32_t reserved2[8];
  /** One word per device of the lane: moves when packets or ring space came back after a refusal. [V4] */
  uint32_t generation[16];
  /* packet cache: both sides, never at the same time */
  uint32_t packet_count; /**< Handles in `packets`; the loop takes from the end, the core refills at enters. */
  uint32_t packets[31];  /**< Packet handles that the loop may fill and post with LCI_FLAG_PACKET. */
} lci_lane_control;

/** One attached inbox, 32 bytes, entry i of the demand table. */
typedef struct lci_demand {
  uint64_t requested; /**< Loop: cumulative demand; pause by setting it to `delivered`. */
  uint64_t delivered; /**< Core: records written so far. */
  uint32_t port;      /**< Core: port number, 0 when free. */
  uint32_t depth;     /**< Core: messages stored beyond the demand. */
  uint64_t reserved;
} lci_demand;

typedef enum lci_record_kind {
  LCI_RECORD_PAD = 0,      /**< Skip to the start of the ring. `size` records are skipped, this one included. */
  LCI_RECORD_OP = 1,       /**< An operation of this lane ended: code, rank, tag, size, context. */
  LCI_RECORD_MESSAGE = 2,  /**< A message for inbox `index`. */
  LCI_RECORD_WRITABLE = 3, /**< Key (device index, rank, port) was refused and has room: `context` messages; for a send
                              key LCI_RECORD_FLAG_ENGINE is set and `port` is the engine. */
  LCI_RECORD_PEER = 4,     /**< Rank changed state: `context` is an ::lci_peer_state, code the error it means. Recorded
                              for each device of the lane, `index`. */
  LCI_RECORD_PORT = 5,     /**< Port `port` of `rank` refuses: code says closed or mismatch; LCI_DONE: open again. */
  LCI_RECORD_SYNC = 6,   /**< Synchronizer with id `context` >> 32 fired: one record per status, `index` counts down to
                            0; low 32 bits of context: those of the operation's user_context above the comp id. */
  LCI_RECORD_COUNTER = 7 /**< Counter with id `context` >> 32 reached a new value, in `tag`. */
} lci_record_kind;

enum {
  LCI_RECORD_FLAG_ADDRESS = 1, /**< Payload at u.address, valid until cq_head passes this record. */
  LCI_RECORD_FLAG_ENGINE = 2   /**< `port` is a matching engine. */
};

/** A completion record, 64 bytes. An inline payload starts at byte 32 and continues in the following records, which it
 * occupies: 1 + ceil(max(0, size - 32) / 64) records. */
typedef struct lci_record {
  uint8_t kind;   /**< ::lci_record_kind */
  uint8_t flags;  /**< LCI_RECORD_FLAG_* */
  uint16_t code;  /**< ::lci_code */
  uint32_t rank;  /**< Peer, source. */
  uint16_t port;  /**< Port number. */
  uint16_t index; /**< MESSAGE: index in the demand table. WRITABLE, PEER, PORT: device index in the lane. */
  uint32_t size;  /**< Payload bytes. */
  uint64_t tag;
  uint64_t context; /**< OP: user_context. */
  union {
    uint8_t inline_payload[32];
    uint64_t address;
  } u;
} lci_record;

/** Messages up to this size travel inside descriptors, ring slots and records. */
#define LCI_INLINE_MAX 192u

/**
 * Creates a lane that owns devices first .. first + count - 1 of the runtime; they can no longer be used through
 * lci_post() and lci_progress(). Every lane gets the peer events, one LCI_RECORD_PEER for each of its devices when
 * that device has delivered what the peer had sent.
 */
LCI_API int lci_lane_create(lci_runtime* runtime, uint32_t first_device, uint32_t device_count, lci_lane** out);
/** Address and length of the lane's block. Never unmapped while the process lives. */
LCI_API int lci_lane_memory(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length);
/**
 * Address and length of the doorbell area of this rank. At offset lci_lane_park_offset(): the 32-bit park word of the
 * lane (0 running, 1 announced). At lci_lane_summary_offset(i): the summary of the lane's i-th device, one byte per
 * sending rank, not 0 when something may have arrived. [V9]
 */
LCI_API int lci_lane_doorbell(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length);
LCI_API uint64_t lci_lane_park_offset(const lci_lane* lane);
LCI_API uint64_t lci_lane_summary_offset(const lci_lane* lane, uint32_t device_index);
/**
 * Serves the lane once, in this order, each step within its budget: free consumed records, publish what is submitted,
 * control traffic, backlog, arrivals, completions.
 * @return LCI_DONE if anything moved, LCI_RETRY if nothing did, LCI_ERR_BUSY when another thread is inside.
 */
LCI_API int lci_lane_enter(lci_lane* lane);
/**
 * Parks the loop's thread. The loop first stores 1 in the park word (with a full fence), looks at its own queues, then
 * calls this, which looks at everything native again and sleeps until a wake, @p timeout_ns, or 50 ms. On return the
 * park word is 0. @return LCI_DONE when woken or when there was work, LCI_RETRY on time-out. [V11]
 */
LCI_API int lci_lane_park(lci_lane* lane, uint64_t timeout_ns);
/** Wakes a parked lane; any thread. Cheap when the lane runs; callers may skip it when the park word is 0 (after a full
 * fence). */
LCI_API void lci_lane_wake(lci_lane* lane);
/** Frees the lane: ports attached to it are closed, its operations forgotten, its devices usable by others again. */
LCI_API int lci_lane_free(lci_lane* lane);

/**
 * Opens port @p number with this lane as its home: messages become LCI_RECORD_MESSAGE records as far as the demand
 * entry allows. Must be called by the loop's thread, outside enter.
 * @param out_index index in the demand table.
 * @param out_base,out_length memory where payloads above LCI_INLINE_MAX are stored, for mapping once; a record's
 * address lies there unless the message is larger than the port's bytes.
 */
LCI_API int lci_lane_open_port(lci_lane* lane, uint32_t number, const char* name, uint32_t messages, uint64_t bytes,
                               uint32_t* out_index, uint64_t* out_base, uint64_t* out_length);
/** Closes an attached port. Records already written stay valid until consumed. */
LCI_API int lci_lane_close_port(lci_lane* lane, uint32_t index);
/** A synchronizer whose firings are recorded on this lane (LCI_RECORD_SYNC); any thread may signal it. */
LCI_API int lci_lane_synchronizer_create(lci_lane* lane, uint32_t threshold, lci_comp** out);
/** @} */

/* ------------------------------------------------------------------------------------------------------------------ */
/** @name Layout
 * Version, sizes and offsets of everything shared, for the check at load. [V10]
 * @{ */
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
/** Payload bytes of a packet of this runtime: the largest eager message. [C21] */
LCI_API uint32_t lci_runtime_max_eager(const lci_runtime* runtime);
/** @} */

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* LCI_LCI_H_ */
