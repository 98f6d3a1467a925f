// SPDX-License-Identifier: Apache-2.0
// What each sanitizer is to report, so that a build which has lost its sanitizer is noticed: its tests would all pass.
// Usage: deliberate_error address|undefined|thread
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

namespace {

int read_what_was_freed() {
  auto freed = std::make_unique<int>(1);
  const volatile int* const left = freed.get();
  freed.reset();
  return *left;
}

int overflow(int operations) {
  return INT_MAX - 1 + operations;
}

int race() {
  int word = 0;
  std::thread other([&word] { word = 1; });
  word = 2;
  other.join();
  return word;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string error = count == 2 ? arguments[1] : "";
  int seen = 0;
  if (error == "address") {
    seen = read_what_was_freed();
  } else if (error == "undefined") {
    seen = overflow(count);
  } else if (error == "thread") {
    seen = race();
  } else {
    std::fprintf(stderr, "deliberate_error: one of address, undefined, thread\n");
    return EXIT_FAILURE;
  }
  std::printf("no sanitizer reported it: %d\n", seen);
  return EXIT_SUCCESS;
}
