#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compile_by.sh COMPILER OTHER COMMAND...: the command, with OTHER where it says COMPILER. A launcher of CMake, which has one
# compiler for a language in a build.
compiler=$1 other=$2
shift 2
for word; do
  shift
  if [ "$word" = "$compiler" ]; then word=$other; fi
  set -- "$@" "$word"
done
exec "$@"
