#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The walls of native/src: a folder includes only folders of lower layers, and the means by which ranks reach each other
# are named only where they belong. See docs/internals/walls.md. Usage: walls.sh [HOME]
set -euo pipefail
export LC_ALL=C

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
home=$(readlink -f "${1:-$here/../../..}")
readonly here home

# Each line is a layer; a folder includes any folder of the lines below its own, and no other.
# More rules for transport/shm are in judge.awk.
readonly LAYERS='
api
runtime
lane
graph
device
protocol
rma
flow matching completion collective transport
peer
wire pool bootstrap reduce
host
base
'

# A transport's own words: descriptors, futexes, sockets and process ids. They are whole words of the code.
readonly SEAM='[a-z_]*memfd[a-z_]*|[A-Za-z_]*futex[a-z_]*|FUTEX_[A-Z_]*|[A-Za-z_]*pidfd[a-z_]*|process_vm[a-z_]*|'\
'SCM_RIGHTS|AF_UNIX|sockaddr_un|/proc|FileDescriptor|file_descriptor|fd_?|pid_?|pid_t|getpid|process_gone|process_start'

# Who may say them: transports, bootstraps (each is the means of a launcher), and what wraps processes and descriptors.
readonly MAY_SAY='^(transport|bootstrap|host)/'

work=$(mktemp -d "${TMPDIR:-/tmp}/lci-walls.XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly work
failed=0

complain() { echo "$*"; failed=1; }

scan() (
  cd "$home/native/src"
  find . -type f \( -name '*.[ch]' -o -name '*.[ch]pp' \) -printf '%P\0' | sort -z |
    xargs -0 awk -v folders="$(find . -mindepth 1 -maxdepth 1 -type d -printf '%P ')" -v seam="$SEAM" -f "$here/scan.awk"
)

check_arrows() {
  local file line included why
  while IFS=$'\t' read -r file line included why; do
    complain "native/src/$file:$line: includes $included; $why"
  done < <(awk -v layers="$LAYERS" -f "$here/judge.awk" "$work/scan")
}

check_seam() {
  local file line word
  while read -r file line word; do
    complain "native/src/$file:$line: '$word' is a word of a transport; only transport/, bootstrap/ and host/ name a"\
      "descriptor, a futex, a socket or a process id: ask the transport"
  done < <(awk -v may="$MAY_SAY" '$1 == "word" && $2 !~ may { print $2, $3, $4 }' "$work/scan")
}

scan > "$work/scan"
check_arrows
check_seam
((failed == 0)) || { echo "The walls of native/src are crossed; see docs/internals/walls.md"; exit 1; }
echo "walls: $(grep -c '^arrow' "$work/scan") includes, none crosses"
