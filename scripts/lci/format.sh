# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci format.

cmd_format() {
  need_tools
  need_command clang-format clang-format
  (cd "$home" && native_sources | xargs -0 clang-format -i)
  maven -q -Dlci.native.skip spotless:apply
}
