// SPDX-License-Identifier: Apache-2.0
#include "completion/handler.hpp"

#include <cxxabi.h>

#include <exception>

#include "base/error.hpp"

namespace lci {

int Handler::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  const SignalContext context;
  try {
    function_(&status, argument_);
    return LCI_DONE;
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled: swallowing this would end the process
  } catch (const std::exception& error) {
    exceptions_.fetch_add(1, std::memory_order_relaxed);
    return fail(LCI_ERR_ARGUMENT, "handler %u threw: %s; handlers must not throw", id(), error.what());
  } catch (...) {
    exceptions_.fetch_add(1, std::memory_order_relaxed);
    return fail(LCI_ERR_ARGUMENT, "handler %u threw; handlers must not throw", id());
  }
}

}  // namespace lci
