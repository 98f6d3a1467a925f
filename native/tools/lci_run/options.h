/* SPDX-License-Identifier: Apache-2.0 */
/** @file options.h The launcher's command line. */
#ifndef LCI_TOOLS_LCI_RUN_OPTIONS_H_
#define LCI_TOOLS_LCI_RUN_OPTIONS_H_

#include <stdbool.h>

enum { USAGE_ERROR = 2, MAX_RANKS = 65535, MAX_GRACE_SECONDS = 86400 };

struct options {
  int ranks;
  int grace_ms;
  bool prefix;
  bool usage;
  const char* base;
  char* const* command;
  char** hosts; /**< Null: this one. */
  int host_count;
  const char* launch_agent; /**< Words that start an agent on host {}. */
  const char* root;         /**< How other hosts call that of rank 0. */
};

/** False after a message. */
bool options_parse(int argc, char** argv, struct options* options);
void options_free(struct options* options);

#endif
