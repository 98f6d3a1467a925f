# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts that run the k-mer job share. Everything they write lies in a folder of their own, removed at the end.
set -uo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly home
readonly lci=${LCI:-$home/lci}
readonly DEADLINE_S=${LCI_TEST_DEADLINE_S:-60}
folder=$(mktemp -d "${TMPDIR:-/tmp}/lci-samples.XXXXXX")
readonly folder
trap 'rm -rf "$folder"' EXIT

passed=0
failed=0

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# pass/fail WHAT: counts one case and prints its line.
pass() { passed=$((passed + 1)); echo "ok      $*"; }
fail() { failed=$((failed + 1)); echo "FAILED  $*"; }

# finish: the last line, and the exit code.
finish() {
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
}

# kmer RANKS ARGUMENT...: the job, ended by force at the deadline.
kmer() {
  local ranks=$1
  shift
  timeout --kill-after=10 "$DEADLINE_S" "$lci" run -n "$ranks" --dir "$folder/jobs" kmer "$@" < /dev/null
}

simulate() { timeout "$DEADLINE_S" "$lci" run -n 1 --dir "$folder/jobs" simulate-reads "$@" < /dev/null; }

# need_package COMMAND PACKAGE: installs a Debian package as root, else says what is missing.
need_package() {
  command -v "$1" > /dev/null && return
  [[ $(id -u) == 0 ]] && command -v apt-get > /dev/null || die "missing: $1. Install with: sudo apt-get install $2"
  { apt-get install -y --no-install-recommends "$2" || { apt-get update && apt-get install -y --no-install-recommends "$2"; }; } \
    > "$folder/apt.log" 2>&1 < /dev/null || { tail -n 3 "$folder/apt.log" >&2; die "cannot install $2"; }
}

# milliseconds since the shell's epoch, for reports.
now_ms() { echo $(($(date +%s%N) / 1000000)); }
