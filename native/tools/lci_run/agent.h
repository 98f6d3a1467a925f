/* SPDX-License-Identifier: Apache-2.0 */
/** @file agent.h What an agent is told by the launcher before it starts its ranks. */
#ifndef LCI_TOOLS_LCI_RUN_AGENT_H_
#define LCI_TOOLS_LCI_RUN_AGENT_H_

#include <stdbool.h>

#include "frames.h"
#include "job_directory.h"

struct order {
  unsigned char secret[SECRET_BYTES];
  bool has_secret;
  char name[300]; /**< Of report(). */
  int first, count, size;
  char* base;      /**< Null: the default. */
  char* directory; /**< Null: where the agent was started. */
  char** command;
  int words;
  char* root;      /**< Where rank 0 answers. */
  int held_port;   /**< Of rank 0, if that is one of its ranks; else -1. */
  struct inlet in; /**< Standard input: more comes. */
};

/** Waits for the order. False after a message, or in silence if the launcher ended. */
bool order_receive(struct order* order);
void order_free(struct order* order);

#endif
