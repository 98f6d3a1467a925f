// SPDX-License-Identifier: Apache-2.0
// Processes that wait for a debugger before their first runtime.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cstdlib>

#include "support/processes.hpp"

namespace lci_test {
namespace {

/// A process of its own, with the variable set; it ends with 0 when its runtime was created.
pid_t start(const char* how) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(2 * kSeconds);
  setenv("LCI_INIT_ATTACH_DEBUGGER", how, 1);
  lci_runtime* runtime = nullptr;
  CHILD_EXPECT(lci_runtime_create(nullptr, nullptr, 0, &runtime) == LCI_DONE);
  CHILD_EXPECT(lci_runtime_close(runtime, 0) == LCI_DONE);
  _exit(0);
}

/// The next change of the process that waitpid() tells with these flags; 0 if there is none in time.
int next_status(pid_t child, int flags) {
  int status = 0;
  const Deadline deadline(kSeconds);
  while (waitpid(child, &status, flags | WNOHANG) != child) {
    if (deadline.passed()) {
      ADD_FAILURE() << "nothing happened to the process";
      ::kill(child, SIGKILL);
      return 0;
    }
    usleep(2000);
  }
  return status;
}

// Proves: A21
TEST(Debugger, SigstopStopsUntilTheProcessIsContinued) {
  const pid_t child = start("sigstop");
  const int stopped = next_status(child, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(stopped));
  EXPECT_EQ(SIGSTOP, WSTOPSIG(stopped));
  ASSERT_EQ(0, ::kill(child, SIGCONT));
  const int ended = next_status(child, 0);
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(0, WEXITSTATUS(ended));
}

// Proves: A21
TEST(Debugger, AnythingElseWaitsUntilSomebodyTraces) {
  const pid_t child = start("1");
  usleep(300'000);
  int status = 0;
  ASSERT_EQ(0, waitpid(child, &status, WNOHANG)) << "it should wait";
  ASSERT_EQ(0, ptrace(PTRACE_SEIZE, child, nullptr, nullptr)) << std::strerror(errno);
  const int ended = next_status(child, 0);
  EXPECT_TRUE(WIFEXITED(ended));
  EXPECT_EQ(0, WEXITSTATUS(ended));
}

// Proves: A21
TEST(Debugger, NobodyWaitsUnasked) {
  for (const char* how : {"", "0"}) {
    const int ended = next_status(start(how), 0);
    EXPECT_TRUE(WIFEXITED(ended)) << how;
    EXPECT_EQ(0, WEXITSTATUS(ended));
  }
}

}  // namespace
}  // namespace lci_test
