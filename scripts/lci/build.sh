# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci build.

usage_build() {
  cat << 'EOF'
Usage: ./lci build

Installs the tools that are missing (Debian packages, as root; else it says which), builds the native core and the Java
modules, and installs the modules in the local Maven repository, whether anything has changed or not. Runs no tests.
The log is .lci/logs/build.log. The other commands build by themselves when a source has changed.
EOF
}

cmd_build() {
  build_and_install
  say "lci: built $(installed)"
}
