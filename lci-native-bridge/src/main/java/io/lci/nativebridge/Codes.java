/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * The constants of {@code lci.h}, without their {@code LCI_} prefix; the header says what they
 * mean. A test parses the header and fails on any difference.
 */
public final class Codes {

  // lci_code: the answer of every call and the outcome of every descriptor
  public static final int DONE = 0;
  public static final int DONE_BACKLOG = 1;
  public static final int POSTED = 2;
  public static final int POSTED_BACKLOG = 3;
  public static final int RETRY = 16;
  public static final int RETRY_LOCK = 17;
  public static final int RETRY_NOPACKET = 18;
  public static final int RETRY_NOMEM = 19;
  public static final int RETRY_BACKLOG = 20;
  public static final int RETRY_NOCREDIT = 21;
  public static final int RETRY_PENDING = 22;
  public static final int RETRY_ORDER = 23;
  public static final int ERR_ARGUMENT = 32;
  public static final int ERR_RANK = 33;
  public static final int ERR_TAG = 34;
  public static final int ERR_SIZE = 35;
  public static final int ERR_PORT = 36;
  public static final int ERR_DEVICE = 37;
  public static final int ERR_PORT_CLOSED = 40;
  public static final int ERR_PORT_MISMATCH = 41;
  public static final int ERR_PEER_FAILED = 42;
  public static final int ERR_PEER_LEFT = 43;
  public static final int ERR_TRUNCATED = 44;
  public static final int ERR_CANCELLED = 45;
  public static final int ERR_CLOSED = 46;
  public static final int ERR_EXHAUSTED = 47;
  public static final int ERR_NO_MEMORY = 48;
  public static final int ERR_TIMEOUT = 49;
  public static final int ERR_BUSY = 50;
  public static final int ERR_SIGNAL_CONTEXT = 51;
  public static final int ERR_BOOTSTRAP = 52;
  public static final int ERR_UNSUPPORTED = 53;
  public static final int ERR_PROTOCOL = 54;
  public static final int ERR_OVERRUN = 55;
  public static final int ERR_ATTRIBUTE = 56;
  public static final int ERR_MEMORY_CLOSED = 57;
  public static final int ERR_NOT_PENDING = 58;
  public static final int ERR_RUN_NUMBER = 59;
  public static final int ERR_FENCED = 60;
  public static final int ERR_MISMATCH = 61;
  public static final int ERR_COLLECTIVE = 62;

  /** With this a program exits that ends because of ERR_FENCED. */
  public static final int EXIT_FENCED = 74;

  // lci_peer_state
  public static final int PEER_ALIVE = 0;
  public static final int PEER_LEFT = 1;
  public static final int PEER_FAILED = 2;
  public static final int PEER_FENCED = 3;

  // lci_log_level
  public static final int LOG_ERROR = 0;
  public static final int LOG_WARN = 1;
  public static final int LOG_STATUS = 2;
  public static final int LOG_INFO = 3;
  public static final int LOG_DEBUG = 4;
  public static final int LOG_TRACE = 5;

  // Sides of a matching without messages
  public static final int SIDE_SEND = 0;
  public static final int SIDE_RECV = 1;

  // lci_op_kind
  public static final int OP_AM = 1;
  public static final int OP_SEND = 2;
  public static final int OP_RECV = 3;
  public static final int OP_BARRIER = 4;
  public static final int OP_CANCEL = 5;
  public static final int OP_PUT = 6;
  public static final int OP_GET = 7;
  public static final int OP_ATOMIC = 8;
  public static final int OP_NODE_DONE = 9;
  public static final int OP_NODE_FAILED = 10;
  public static final int OP_GRAPH_START = 11;
  public static final int OP_RELEASE = 12;
  public static final int OP_COPY = 13;
  public static final int OP_REDUCE = 14;
  public static final int OP_COLLECTIVE = 15;

  // lci_data_type
  public static final int TYPE_I8 = 1;
  public static final int TYPE_U8 = 2;
  public static final int TYPE_I16 = 3;
  public static final int TYPE_U16 = 4;
  public static final int TYPE_I32 = 5;
  public static final int TYPE_U32 = 6;
  public static final int TYPE_I64 = 7;
  public static final int TYPE_U64 = 8;
  public static final int TYPE_F32 = 9;
  public static final int TYPE_F64 = 10;
  public static final int TYPE_I32_I32 = 11;
  public static final int TYPE_I64_I64 = 12;
  public static final int TYPE_F32_I32 = 13;
  public static final int TYPE_F64_I64 = 14;

  // lci_reduce_op
  public static final int REDUCE_SUM = 1;
  public static final int REDUCE_PROD = 2;
  public static final int REDUCE_MIN = 3;
  public static final int REDUCE_MAX = 4;
  public static final int REDUCE_MINLOC = 5;
  public static final int REDUCE_MAXLOC = 6;
  public static final int REDUCE_BAND = 7;
  public static final int REDUCE_BOR = 8;
  public static final int REDUCE_BXOR = 9;

  // lci_collective_kind
  public static final int COLLECTIVE_BARRIER = 1;
  public static final int COLLECTIVE_BROADCAST = 2;
  public static final int COLLECTIVE_REDUCE = 3;
  public static final int COLLECTIVE_ALLREDUCE = 4;
  public static final int COLLECTIVE_REDUCE_SCATTER = 5;
  public static final int COLLECTIVE_ALLGATHER = 6;
  public static final int COLLECTIVE_GATHER = 7;
  public static final int COLLECTIVE_SCATTER = 8;
  public static final int COLLECTIVE_ALLTOALL = 9;
  public static final int COLLECTIVE_SCAN = 10;
  public static final int COLLECTIVE_EXCLUSIVE_SCAN = 11;
  public static final int COLLECTIVE_NEIGHBOURS = 12;
  public static final int COLLECTIVE_AGREE = 13;

  // lci_algorithm
  public static final int ALGORITHM_AUTO = 0;
  public static final int ALGORITHM_DISSEMINATION = 1;
  public static final int ALGORITHM_LINEAR = 2;
  public static final int ALGORITHM_BINOMIAL = 3;
  public static final int ALGORITHM_KNOMIAL = 4;
  public static final int ALGORITHM_CHAIN = 5;
  public static final int ALGORITHM_SCATTER_ALLGATHER = 6;
  public static final int ALGORITHM_RECURSIVE_DOUBLING = 7;
  public static final int ALGORITHM_RABENSEIFNER = 8;
  public static final int ALGORITHM_RING = 9;
  public static final int ALGORITHM_RECURSIVE_HALVING = 10;
  public static final int ALGORITHM_PAIRWISE = 11;
  public static final int ALGORITHM_BRUCK = 12;
  public static final int ALGORITHM_NEIGHBOUR_EXCHANGE = 13;
  public static final int ALGORITHM_DIRECT = 14;
  public static final int ALGORITHM_ARENA_LINE = 15;
  public static final int ALGORITHM_ARENA_SLOTS = 16;
  public static final int ALGORITHM_HIERARCHICAL = 17;

  // lci_atomic_op
  public static final int ATOMIC_ADD = 1;
  public static final int ATOMIC_SWAP = 2;
  public static final int ATOMIC_COMPARE_SWAP = 3;

  // lci_policy
  public static final int POLICY_RANK_TAG = 0;
  public static final int POLICY_RANK = 1;
  public static final int POLICY_TAG = 2;
  public static final int POLICY_NONE = 3;

  /** In the policy of an active message: it answers a request that reserved room for its reply. */
  public static final int AM_REPLY = 128;

  // Flags of a descriptor
  public static final int FLAG_INLINE = 0;
  public static final int FLAG_PACKET = 1;
  public static final int FLAG_BUFFER = 2;
  public static final int FLAG_PAYLOAD_MASK = 3;
  public static final int FLAG_SIGNAL = 4;
  public static final int FLAG_NO_RETRY = 8;
  public static final int FLAG_COMP = 16;
  public static final int FLAG_NETWORK = 32;
  public static final int FLAG_LIST = 64;
  public static final int FLAG_WAIT = 128;

  // lci_queue_kind
  public static final int QUEUE_DEFAULT = 0;
  public static final int QUEUE_ARRAY = 1;
  public static final int QUEUE_LCRQ = 2;

  // Types of a matching engine
  public static final int ENGINE_MAP = 0;
  public static final int ENGINE_QUEUE = 1;
  public static final int ENGINE_KEYED = 16;

  // lci_node_kind, and the nodes that every graph has
  public static final int NODE_DUMMY = 0;
  public static final int NODE_OP = 1;
  public static final int NODE_HOST = 2;
  public static final int NODE_OP_PER_RUN = 3;
  public static final int GRAPH_START = 0;
  public static final int GRAPH_END = 1;

  /** Most runs of a graph that may be under way at once. */
  public static final int MAX_GRAPH_DEPTH = 16;

  // What an enter does
  public static final int ENTER_POST = 1;
  public static final int ENTER_PROGRESS = 2;
  public static final int ENTER_DRAIN = 4;
  public static final int ENTER_LEAVING = 8;

  // lci_record_kind
  public static final int RECORD_PAD = 0;
  public static final int RECORD_OP = 1;
  public static final int RECORD_MESSAGE = 2;
  public static final int RECORD_WRITABLE = 3;
  public static final int RECORD_PEER = 4;
  public static final int RECORD_PORT = 5;
  public static final int RECORD_SYNC = 6;
  public static final int RECORD_COUNTER = 7;
  public static final int RECORD_HOST_NODE = 8;
  public static final int RECORD_GRAPH = 9;

  // Flags of a record
  public static final int RECORD_FLAG_ADDRESS = 1;
  public static final int RECORD_FLAG_ENGINE = 2;
  public static final int RECORD_FLAG_LOAN = 4;
  public static final int RECORD_FLAG_KEPT = 8;
  public static final int RECORD_FLAG_RECEIVED = 16;

  // Bounds and wildcards
  /** Rank of a receive that matches any source. */
  public static final int ANY_SOURCE = -1;

  /** Tag of a receive that matches any tag. */
  public static final long ANY_TAG = -1L;

  /** Largest tag of send and receive; active messages carry 64 bits. */
  public static final long MAX_TAG = 0xFFFF_FFFFL;

  /** Largest tag of a put or get with signal. */
  public static final int MAX_SIGNAL_TAG = 65535;

  /** Bytes by which a rank names a region of its memory to others. */
  public static final int MEMORY_HANDLE_SIZE = 64;

  /** Most members of a group that agrees. */
  public static final int MAX_AGREE = 1024;

  /** Largest number of a matching engine. */
  public static final int MAX_ENGINE = 255;

  /** Most parts of a list of buffers. */
  public static final int MAX_LIST = 65536;

  /** Streams and numbers that a tag in order has room for. */
  public static final int IN_ORDER_STREAMS = 4096;

  public static final int IN_ORDER_NUMBERS = 1048576;

  /** In place of a rank: there is no such runtime. */
  public static final long NO_RANK = 0xFFFF_FFFFL;

  /** In place of a device: none of them. */
  public static final long NO_DEVICE = 0xFFFF_FFFFL;

  /** Timeout of a wait without an end. */
  public static final long FOREVER = 0xFFFF_FFFFL;

  /** Most devices of a runtime. */
  public static final int MAX_DEVICES = 128;

  /** Largest port number. */
  public static final int MAX_PORT = 32767;

  /** Most parts of a port. */
  public static final int MAX_PORT_PARTS = 64;

  /** Most ports of a runtime with room for replies; also the largest id of such a room. */
  public static final int MAX_REPLY_ROOM = 127;

  private Codes() {}

  /** Whether the operation is finished: done, in either form. */
  public static boolean isDone(int code) {
    return code == DONE || code == DONE_BACKLOG;
  }

  /** Whether exactly one signal follows: posted, in either form. */
  public static boolean isPosted(int code) {
    return code == POSTED || code == POSTED_BACKLOG;
  }

  /** Whether nothing happened and the caller may try again. */
  public static boolean isRetry(int code) {
    return code >= RETRY && code < ERR_ARGUMENT;
  }

  /** Whether the call or operation failed. */
  public static boolean isError(int code) {
    return code >= ERR_ARGUMENT;
  }
}
