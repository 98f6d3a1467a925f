// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "bootstrap/pmi_wire.hpp"

namespace lci {

std::optional<std::string_view> PmiAnswer::word(std::string_view key) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(separator_));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  }
  return std::nullopt;
}

int PmiAnswer::refuse(const char* title, const char* asked) const {
  std::string shown = text_.substr(0, text_.find("value="));  // it may have the job's secret
  if (shown.size() != text_.size()) shown += "value=...";
  shown.resize(std::min<size_t>(shown.size(), 120));
  std::replace_if(
      shown.begin(), shown.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  return fail(LCI_ERR_BOOTSTRAP, "%s: asked for %s, the launcher answers \"%s\"", title, asked, shown.c_str());
}

}  // namespace lci
