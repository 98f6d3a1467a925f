/* SPDX-License-Identifier: Apache-2.0 */
/** @file process.h Small helpers that every part of the launcher needs. */
#ifndef LCI_TOOLS_LCI_RUN_PROCESS_H_
#define LCI_TOOLS_LCI_RUN_PROCESS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** Who says what report() prints: "lci-run", unless it says otherwise. */
extern const char* report_name;

/** Prints "lci-run: ..." on standard error, as one write. Always returns false, so that `return report(...)` fails. */
bool report(const char* format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Start time of a running process in clock ticks since boot, from /proc/PID/stat; 0 when there is none (a zombie counts
 * as none). A pid alone does not name a process, for pids are reused; a pid with its start time does.
 */
uint64_t process_start_time(pid_t pid);

/** Writes everything; false with errno set on the first error. */
bool write_all(int fd, const void* data, size_t size);

/** Bytes of the system's random source, up to 256. False after a message. */
bool random_bytes(unsigned char* out, size_t size);

/** Milliseconds of the monotonic clock. */
int64_t now_ms(void);

/** realloc that ends the program with a message when memory is out. */
void* grow(void* data, size_t size);

#endif
