// SPDX-License-Identifier: Apache-2.0
#include "device/progressing.hpp"

namespace lci {
namespace {

thread_local Device* progressing = nullptr;

}  // namespace

Progressing::Progressing(Device& device) : before_(progressing) {
  progressing = &device;
}
Progressing::~Progressing() {
  progressing = before_;
}
bool Progressing::is(const Device& device) {
  return progressing == &device;
}

}  // namespace lci
