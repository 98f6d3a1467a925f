// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BOOTSTRAP_IDENTITY_HPP_
#define LCI_BOOTSTRAP_IDENTITY_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lci {

using JobSecret = std::array<uint8_t, 32>;

/// Fresh values from the system's random source, which cannot fail once the system is up.
uint64_t random_id();
JobSecret random_secret();

/// 16 hexadecimal digits.
std::string id_text(uint64_t id);
/// The reverse; nothing unless @p text is exactly 16 hexadecimal digits.
std::optional<uint64_t> parse_id(std::string_view text);
/// Identity of the @p generation-th set of runtimes of a job: names derived from it (sockets) must not meet.
uint64_t generation_id(uint64_t job, uint32_t generation);

}  // namespace lci

#endif  // LCI_BOOTSTRAP_IDENTITY_HPP_
