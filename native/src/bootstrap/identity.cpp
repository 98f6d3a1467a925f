// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/identity.hpp"

#include <charconv>

#include "base/sha256.hpp"

namespace lci {

uint64_t random_id() {
  uint64_t id = 0;
  random_bytes(&id, sizeof id);
  return id;
}

JobSecret random_secret() {
  JobSecret secret;
  random_bytes(secret.data(), secret.size());
  return secret;
}

std::string id_text(uint64_t id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t at = text.size(); at-- > 0; id >>= 4) text[at] = kDigits[id & 15];
  return text;
}

std::optional<uint64_t> parse_id(std::string_view text) {
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

uint64_t generation_id(uint64_t job, uint32_t generation) {
  return job + generation * 0x9E3779B97F4A7C15u;
}

}  // namespace lci
