#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The environment is documented: every variable that the code reads stands in docs/environment.md, and every one that
# stands there is read. Usage: environment_test.sh HOME
set -euo pipefail
home=$(realpath "${1:?usage: environment_test.sh HOME}")
readonly home

documented() { grep -o '^| `[A-Z_]*' "$home/docs/environment.md" | tr -d '|` ' | sort -u; }

# Names in quotes of the native code and of Java; attributes are documented as one, by their table.
read_by_code() {
  {
    grep -rhoE '"LCI_[A-Z_]+"' "$home/native/src" "$home"/lci-*/src/main | tr -d '"'
    grep -rhoE '(getenv|environment)\("[A-Z_]+"' "$home/native/src" "$home/native/tools" | cut -d '"' -f 2
    grep -rhoE '"(PMI|PMIX|OMPI|SLURM)_[A-Z_]+"' "$home/native/src" | tr -d '"' # in lists, or named by their number
    grep -rhoE '"(RANK|WORLD_SIZE)"' "$home/native/src" | tr -d '"' # named where LCI_RANK and LCI_SIZE are
    grep -rhoE '\$\{?(LCI_[A-Z_]+|JAVA_HOME)' "$home/lci" "$home/scripts/lci" | tr -d '${'
    sed -n 's/.*{"\(log_[a-z]*\)".*/\1/p' "$home/native/src/base/attribute_table.cpp" | tr '[:lower:]' '[:upper:]' |
      sed 's/^/LCI_/'
  } | sort -u | grep -v '^LCI_$'
}

diff <(documented) <(read_by_code) || { echo "docs/environment.md (<) and the code (>) differ"; exit 1; }
echo "passed: $(documented | wc -l) variables"
