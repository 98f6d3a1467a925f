// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "base/attributes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/no_memory.hpp"

namespace lci {
namespace {

constexpr size_t kLongestLine = 1024;

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/// Whether an entry of @p list is a part of @p tag.
bool lists(const std::string& list, std::string_view tag) {
  NameList entries(list);
  while (const auto entry = entries.next()) {
    if (tag.find(*entry) != std::string_view::npos) return true;
  }
  return false;
}

std::string with_rank(std::string name, uint32_t rank) {
  for (size_t at = name.find('%'); at != std::string::npos; at = name.find('%')) {
    name.replace(at, 1, std::to_string(rank));
  }
  return name;
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return "?";
  return name;
}

}  // namespace

const char* log_level_name(LogLevel level) {
  static constexpr const char* kNames[] = {"error", "warn", "status", "info", "debug", "trace"};
  return kNames[static_cast<size_t>(level)];
}

int Log::open(const Attributes& attributes, uint32_t rank, int32_t process) {
  level_ = attributes.log_level;
  whitelist_ = attributes.log_whitelist;
  blacklist_ = attributes.log_blacklist;
  keep_ = attributes.log_keep;
  who_ = std::to_string(rank) + ":" + host_name() + ":" + std::to_string(process);
  start_ = now_ns();
  const std::string& name = attributes.log_outfile;
  if (name == "stderr") {
    file_ = stderr;
  } else if (name == "stdout") {
    file_ = stdout;
  } else if (name != "none") {
    const std::string path = with_rank(name, rank);
    opened_.reset(std::fopen(path.c_str(), "ae"));
    if (!opened_) {
      return fail(LCI_ERR_ATTRIBUTE, "attribute log_outfile: cannot write to %s: %s", path.c_str(),
                  std::strerror(errno));
    }
    file_ = opened_.get();
  }
  return LCI_DONE;
}

bool Log::wants(LogLevel level, std::string_view tag) const {
  if (level > level_) return false;
  if (!file_ && keep_ == 0) return false;
  if (!whitelist_.empty() && !lists(whitelist_, tag)) return false;
  return !lists(blacklist_, tag);
}

/// What stands before the text of a line; returns how long it is.
size_t Log::begin_line(char* line, LogLevel level, const char* tag, const Place& place) const {
  const double elapsed = static_cast<double>(now_ns() - start_) / 1e9;
  const int used =
      std::snprintf(line, kLongestLine, "%s:%ld:%.6f:%s:%s:%d %s [%s] ", who_.c_str(), syscall(SYS_gettid), elapsed,
                    base_name(place.file), place.function, place.line, log_level_name(level), tag);
  return std::min(static_cast<size_t>(std::max(used, 0)), kLongestLine - 1);
}

void Log::write(LogLevel level, const char* tag, const Place& place, const char* format, ...) {
  char line[kLongestLine];
  const size_t used = begin_line(line, level, tag, place);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + used, sizeof line - used, format, arguments);
  va_end(arguments);
  const std::lock_guard<std::mutex> guard(mutex_);
  if (file_) {
    std::fprintf(file_, "%s\n", line);
    std::fflush(file_);
  }
  if (keep_ == 0) return;
  if (kept_.size() == keep_) {
    kept_.pop_front();
    ++lost_;
  }
  // Without memory it is lost: no caller expects that a line fails.
  if (!unless_no_memory([&] { kept_.push_back({level, line}); })) ++lost_;
}

bool Log::take(LogLevel* level, std::string* line) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (lost_ > 0) {
    char told[kLongestLine];
    const size_t used = begin_line(told, LogLevel::kWarn, "log", {__FILE__, __func__, __LINE__});
    std::snprintf(told + used, sizeof told - used, "%lu lines were lost here: nobody took them, and log_keep is %u",
                  std::exchange(lost_, 0), keep_);
    *level = LogLevel::kWarn;
    *line = told;
    return true;
  }
  if (kept_.empty()) return false;
  *level = kept_.front().level;
  *line = std::move(kept_.front().line);
  kept_.pop_front();
  return true;
}

}  // namespace lci
