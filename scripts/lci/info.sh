# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci info.

usage_info() {
  cat << 'EOF'
Usage: ./lci info [-v]

Builds if that is needed, and prints the version of the native core, its transports and attributes, the limits of this
machine, and what a runtime in a JVM is made of. With -v also how it was built.
EOF
}

cmd_info() {
  [[ $# == 0 || $* == -v ]] || misused "info takes -v or nothing; see ./lci info --help"
  build
  "$native_build/lci_info" "$@" "$native_build/lib/liblci.so"
  printf '\nJVM and runtime\n'
  (cmd_run -n 1 info)
}
