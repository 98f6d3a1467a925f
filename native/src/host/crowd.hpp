// SPDX-License-Identifier: Apache-2.0
// Connections of strangers, of whom one makes room for one that comes. It is one of the address that has the most
// places, so that whoever holds connections open takes places from itself, not from others.
#pragma once

#include <algorithm>
#include <cstddef>

namespace lci {

/// The first one, from @p begin, of the address that the most of those have who may go; @p end if none may.
/// @param may_go of one; @param same whether two are of one address
template <typename Iterator, typename MayGo, typename Same>
Iterator one_of_the_crowd(Iterator begin, Iterator end, MayGo may_go, Same same) {
  Iterator chosen = end;
  std::ptrdiff_t most = 0;
  for (Iterator each = begin; each != end; ++each) {
    const auto is_of_it = [&](const auto& other) { return may_go(other) && same(*each, other); };
    if (!may_go(*each) || std::any_of(begin, each, is_of_it)) continue;
    const std::ptrdiff_t places = std::count_if(each, end, is_of_it);
    if (places <= most) continue;
    most = places;
    chosen = each;
  }
  return chosen;
}

}  // namespace lci
