# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci version.

cmd_version() { echo "lci $(sed -n '/<parent>/,/<\/parent>/d; s|^  <version>\(.*\)</version>|\1|p' "$home/pom.xml")"; }
