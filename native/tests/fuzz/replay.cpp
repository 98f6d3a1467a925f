// SPDX-License-Identifier: Apache-2.0
// Runs a target on the inputs of a corpus, without a fuzzer: what was found once stays fixed. The corpus is text: one
// input to a line, in hexadecimal, with spaces where that helps; '#' begins a comment.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* count, char*** arguments);

int main(int count, char** arguments) {
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&count, &arguments);
  std::ifstream corpus(count == 2 ? arguments[1] : "");
  int inputs = 0;
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::erase(line, ' ');
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoul(line.substr(i, 2), nullptr, 16)));
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++inputs;
  }
  std::printf("%d inputs\n", inputs);
  return inputs == 0;
}
