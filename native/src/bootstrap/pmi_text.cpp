// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmi_text.hpp"

#include "base/error.hpp"
#include "bootstrap/environment.hpp"

namespace lci {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string piece(const std::string& key, size_t number) {
  return key + "." + std::to_string(number);
}

int damaged(const std::string& key) {
  return fail(LCI_ERR_BOOTSTRAP, "the launcher's value \"%s\" is not what a rank of this library has put", key.c_str());
}

int get_piece(PmiWire& wire, uint32_t from, const std::string& key, uint64_t deadline_ns, std::string* out) {
  std::optional<std::string> value;
  if (const int code = wire.get(from, key, deadline_ns, &value); code != LCI_DONE) return code;
  if (!value) {
    return fail(LCI_ERR_BOOTSTRAP,
                "the launcher has no value \"%s\": a rank did not put it, so it is no rank of this library, or of "
                "another version",
                key.c_str());
  }
  *out = std::move(*value);
  return LCI_DONE;
}

/// Takes the length of the whole text off its first piece.
bool take_length(std::string* first, size_t* length) {
  const size_t dot = first->find('.');
  if (dot == std::string::npos) return false;
  const auto number = parse_decimal<uint32_t>(std::string_view(*first).substr(0, dot));
  if (!number) return false;
  first->erase(0, dot + 1);
  *length = *number;
  return true;
}

}  // namespace

std::string to_text(const std::vector<uint8_t>& bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  unsigned held = 0;
  for (const uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) text += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += kAlphabet[bits << (6 - held) & 63];
  return text;
}

bool from_text(std::string_view text, std::vector<uint8_t>* out) {
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  unsigned held = 0;
  for (const char each : text) {
    const size_t value = kAlphabet.find(each);
    if (value == std::string_view::npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out->push_back(static_cast<uint8_t>(bits >> held));
  }
  return (bits & ((1u << held) - 1)) == 0;
}

int put_text(PmiWire& wire, const std::string& key, const std::string& text, uint64_t deadline_ns) {
  const std::string whole = std::to_string(text.size()) + "." + text;
  const size_t most = wire.longest_value();
  for (size_t at = 0; at < whole.size(); at += most) {
    const int code = wire.put(piece(key, at / most), std::string_view(whole).substr(at, most), deadline_ns);
    if (code != LCI_DONE) return code;
  }
  return LCI_DONE;
}

int get_text(PmiWire& wire, uint32_t from, const std::string& key, size_t most, uint64_t deadline_ns,
             std::string* out) {
  size_t length = 0;
  std::string value;
  if (const int code = get_piece(wire, from, piece(key, 0), deadline_ns, &value); code != LCI_DONE) return code;
  if (!take_length(&value, &length) || length > most) return damaged(key);
  *out = std::move(value);
  for (size_t number = 1; out->size() < length; ++number) {
    const int code = get_piece(wire, from, piece(key, number), deadline_ns, &value);
    if (code != LCI_DONE) return code;
    if (value.empty()) return damaged(key);
    *out += value;
  }
  return out->size() == length ? LCI_DONE : damaged(key);
}

}  // namespace lci
