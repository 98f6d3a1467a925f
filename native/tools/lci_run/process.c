/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

const char* report_name = "lci-run";

bool report(const char* format, ...) {
  char line[8192];
  int used = snprintf(line, sizeof line, "%.200s: ", report_name);
  va_list arguments;
  va_start(arguments, format);
  int wanted = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
  va_end(arguments);
  size_t length = (size_t)used + (wanted > 0 ? strlen(line + used) : 0);
  line[length++] = '\n';
  if (!write_all(STDERR_FILENO, line, length)) {
    return false; /* Standard error is gone: there is nobody left to tell. */
  }
  return false;
}

uint64_t process_start_time(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE* file = fopen(path, "re");
  if (file == NULL) {
    return 0;
  }
  char text[2048];
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  /* The second field, the command's name, may hold spaces and parentheses: fields are counted after the last ')'. */
  const char* fields = strrchr(text, ')');
  char state = 0;
  unsigned long long start = 0;
  if (fields == NULL ||
      sscanf(fields + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
             &start) != 2) {
    return 0;
  }
  return state == 'Z' || state == 'X' ? 0 : start;
}

bool write_all(int fd, const void* data, size_t size) {
  const char* next = data;
  while (size > 0) {
    ssize_t written = write(fd, next, size);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    next += written;
    size -= (size_t)written;
  }
  return true;
}

bool random_bytes(unsigned char* out, size_t size) {
  return getrandom(out, size, 0) == (ssize_t)size || report("no random numbers: %s", strerror(errno));
}

int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void* grow(void* data, size_t size) {
  void* grown = realloc(data, size);
  if (grown == NULL) {
    report("out of memory");
    exit(EXIT_FAILURE); /* The guardian ends the ranks. */
  }
  return grown;
}
