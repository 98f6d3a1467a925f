// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace lci {
namespace {

thread_local char error_text[1024];
thread_local int error_rank = -1;

}  // namespace

int fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  // Formatted aside: an argument may be last_error() itself.
  char text[sizeof error_text];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::snprintf(error_text, sizeof error_text, "%s", text);
  error_rank = -1;
  return code;
}

int blame(uint32_t rank, int code) {
  error_rank = static_cast<int>(rank);
  return code;
}

int last_error_rank() {
  return error_rank;
}

const char* last_error() {
  return error_text;
}

const char* code_name(int code) {
  switch (code) {
    case LCI_DONE:
      return "done";
    case LCI_DONE_BACKLOG:
      return "done_backlog";
    case LCI_POSTED:
      return "posted";
    case LCI_POSTED_BACKLOG:
      return "posted_backlog";
    case LCI_RETRY:
      return "retry";
    case LCI_RETRY_LOCK:
      return "retry_lock";
    case LCI_RETRY_NOPACKET:
      return "retry_nopacket";
    case LCI_RETRY_NOMEM:
      return "retry_nomem";
    case LCI_RETRY_BACKLOG:
      return "retry_backlog";
    case LCI_RETRY_NOCREDIT:
      return "retry_nocredit";
    case LCI_RETRY_PENDING:
      return "retry_pending";
    case LCI_RETRY_ORDER:
      return "retry_order";
    case LCI_ERR_ARGUMENT:
      return "error_argument";
    case LCI_ERR_RANK:
      return "error_rank";
    case LCI_ERR_TAG:
      return "error_tag";
    case LCI_ERR_SIZE:
      return "error_size";
    case LCI_ERR_PORT:
      return "error_port";
    case LCI_ERR_DEVICE:
      return "error_device";
    case LCI_ERR_PORT_CLOSED:
      return "error_port_closed";
    case LCI_ERR_PORT_MISMATCH:
      return "error_port_mismatch";
    case LCI_ERR_PEER_FAILED:
      return "error_peer_failed";
    case LCI_ERR_PEER_LEFT:
      return "error_peer_left";
    case LCI_ERR_TRUNCATED:
      return "error_truncated";
    case LCI_ERR_CANCELLED:
      return "error_cancelled";
    case LCI_ERR_CLOSED:
      return "error_closed";
    case LCI_ERR_EXHAUSTED:
      return "error_exhausted";
    case LCI_ERR_NO_MEMORY:
      return "error_no_memory";
    case LCI_ERR_TIMEOUT:
      return "error_timeout";
    case LCI_ERR_BUSY:
      return "error_busy";
    case LCI_ERR_SIGNAL_CONTEXT:
      return "error_signal_context";
    case LCI_ERR_BOOTSTRAP:
      return "error_bootstrap";
    case LCI_ERR_UNSUPPORTED:
      return "error_unsupported";
    case LCI_ERR_PROTOCOL:
      return "error_protocol";
    case LCI_ERR_OVERRUN:
      return "error_overrun";
    case LCI_ERR_ATTRIBUTE:
      return "error_attribute";
    case LCI_ERR_MEMORY_CLOSED:
      return "error_memory_closed";
    case LCI_ERR_NOT_PENDING:
      return "error_not_pending";
    case LCI_ERR_RUN_NUMBER:
      return "error_run_number";
    case LCI_ERR_FENCED:
      return "error_fenced";
    case LCI_ERR_MISMATCH:
      return "error_mismatch";
    case LCI_ERR_COLLECTIVE:
      return "error_collective";
    default:
      return "unknown";
  }
}

}  // namespace lci
