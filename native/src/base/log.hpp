// SPDX-License-Identifier: Apache-2.0
// What a rank has to say to people, beside the answers that its callers get. [M5]
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace lci {

struct Attributes;

/// In the order of the names of attribute log_level, and of ::lci_log_level.
enum class LogLevel : uint8_t { kError, kWarn, kStatus, kInfo, kDebug, kTrace };

/// Name of a level, as it stands in lines.
const char* log_level_name(LogLevel level);

/**
 * The lines of one runtime: into a file, and kept for whoever takes them. Any thread. Lines are rare, and nothing on
 * the path of a message writes one, so a lock serves.
 */
class Log {
 public:
  struct Place {
    const char* file;
    const char* function;
    int line;
  };

  /// LCI_DONE, or LCI_ERR_ATTRIBUTE when the file cannot be opened.
  int open(const Attributes& attributes, uint32_t rank, int32_t process);

  /// Whether such a line is written: no lock.
  bool wants(LogLevel level, std::string_view tag) const;
  /// Writes one line; longer ones are cut.
  [[gnu::format(printf, 5, 6), gnu::cold]] void write(LogLevel level, const char* tag, const Place& place,
                                                      const char* format, ...);
  /// The oldest line that was kept, or how many had to go before it; false if there is none.
  bool take(LogLevel* level, std::string* line);

 private:
  struct Kept {
    LogLevel level;
    std::string line;
  };
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  size_t begin_line(char* line, LogLevel level, const char* tag, const Place& place) const;

  LogLevel level_ = LogLevel::kWarn;
  std::string whitelist_, blacklist_;
  std::string who_;  // rank:host:pid
  uint64_t start_ = 0;
  uint32_t keep_ = 0;
  std::unique_ptr<std::FILE, CloseFile> opened_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
  std::deque<Kept> kept_;
  uint64_t lost_ = 0;  // lines that nobody took, since the last one that says so
};

/// Writes a line about @p tag into @p log, if it wants it.
#define LCI_LOG(log, level, tag, ...)                                                                  \
  do {                                                                                                 \
    if ((log).wants(level, tag)) (log).write(level, tag, {__FILE__, __func__, __LINE__}, __VA_ARGS__); \
  } while (false)

}  // namespace lci
