// SPDX-License-Identifier: Apache-2.0
#include "base/chaos_plan.hpp"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "base/attributes.hpp"

namespace lci {
namespace {

bool parse_probability(const char* text, double* out) {
  char rest;
  return std::sscanf(text, "%lf%c", out, &rest) == 1 && *out >= 0 && *out <= 1;
}

bool parse_item(const std::string& item, ChaosPlan* plan) {
  const size_t equals = item.find('=');
  const std::string name = item.substr(0, equals);
  const char* value = equals == std::string::npos ? "" : item.c_str() + equals + 1;
  char rest;
  if (name == "seed") return std::sscanf(value, "%" SCNu64 "%c", &plan->seed, &rest) == 1;
  if (name == "delay") return parse_probability(value, &plan->delay);
  if (name == "refuse") return parse_probability(value, &plan->refuse);
  if (name == "cut") return parse_probability(value, &plan->cut);
  if (name == "short") return parse_probability(value, &plan->shorten);
  if (name == "ticks") return std::sscanf(value, "%u%c", &plan->ticks, &rest) == 1 && plan->ticks != 0;
  if (name == "stall") {
    return std::sscanf(value, "%" SCNd64 "@%" SCNu64 "x%" SCNu64 "%c", &plan->stall_rank, &plan->stall_at,
                       &plan->stall_ticks, &rest) == 3;
  }
  if (name == "kill") {
    return std::sscanf(value, "%" SCNd64 "@%" SCNu64 "%c", &plan->kill_rank, &plan->kill_at, &rest) == 2;
  }
  return false;
}

}  // namespace

std::optional<ChaosPlan> ChaosPlan::parse(std::string_view text) {
  ChaosPlan plan;
  NameList list(text);
  while (const auto item = list.next()) {
    if (!parse_item(std::string(*item), &plan)) return std::nullopt;
  }
  return plan;
}

}  // namespace lci
