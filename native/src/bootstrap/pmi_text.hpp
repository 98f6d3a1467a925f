// SPDX-License-Identifier: Apache-2.0
// Bytes of any length in the store of a launcher, whose values are short texts: in pieces, KEY.0, KEY.1 and so on, the
// first of which begins with the length of the whole text, "1234.".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/pmi_wire.hpp"

namespace lci {

/// Letters, digits, '-' and '_', four for three bytes: no character that ends a word in PMI.
std::string to_text(const std::vector<uint8_t>& bytes);
/// The reverse. False if it is none.
bool from_text(std::string_view text, std::vector<uint8_t>* out);

/// Puts a text in as many pieces as it needs.
int put_text(PmiWire& wire, const std::string& key, const std::string& text, uint64_t deadline_ns);
/// Reads what rank @p from has put. LCI_ERR_BOOTSTRAP if a piece is missing, or if it is no such text, or longer than
/// @p most.
int get_text(PmiWire& wire, uint32_t from, const std::string& key, size_t most, uint64_t deadline_ns, std::string* out);

}  // namespace lci
