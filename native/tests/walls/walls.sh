#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The walls of native/src: a folder includes only folders of lower layers, and no file outside transport/ names the
# means of one transport. arrows.frozen and seam.frozen beside this script hold the violations that were there when the
# check was added; these lists may only shrink. docs/internals/walls.md tells how. Usage: walls.sh [HOME]
set -euo pipefail
export LC_ALL=C

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
home=$(readlink -f "${1:-$here/../../..}")
readonly here home
readonly frozen=native/tests/walls

# Each line is a layer; a folder includes any folder of the lines below its own, and no other.
# More rules for transport/shm are in judge.awk.
readonly LAYERS='
api
lane graph runtime
device
protocol
rma
flow matching completion transport
peer
wire pool bootstrap
base
'

# A transport's own words: descriptors, futexes, sockets and process ids. They are whole words of the code.
readonly SEAM='[a-z_]*memfd[a-z_]*|[A-Za-z_]*futex[a-z_]*|FUTEX_[A-Z_]*|[A-Za-z_]*pidfd[a-z_]*|process_vm[a-z_]*|'\
'SCM_RIGHTS|AF_UNIX|sockaddr_un|/proc|FileDescriptor|file_descriptor|fd_?|pid_?|pid_t|getpid|process_gone|process_start'

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

# check_order FILE: refuses a list that is not sorted, or has a line twice.
check_order() {
  sort -u "$home/$frozen/$1" | cmp -s - "$home/$frozen/$1" ||
    complain "$frozen/$1: the lines are not sorted, or one is there twice: LC_ALL=C sort -u -o $frozen/$1 $frozen/$1"
}

check_arrows() {
  local list=$home/$frozen/arrows.frozen file line included why pair
  awk -v layers="$LAYERS" -f "$here/judge.awk" "$work/scan" > "$work/violations"
  while IFS=$'\t' read -r file line included why; do
    pair="$file -> $included"
    echo "$pair" >> "$work/pairs"
    grep -qxF -e "$pair" "$list" || complain "native/src/$file:$line: includes $included; $why"
  done < "$work/violations"
  sort -u -o "$work/pairs" "$work/pairs"
  while read -r pair; do
    complain "$frozen/arrows.frozen: '$pair' is no violation any more: delete this line"
  done < <(sort -u "$list" | comm -13 "$work/pairs" -)
}

check_seam() {
  local list=$home/$frozen/seam.frozen file now before words
  awk '$1 == "word" && $2 !~ /^transport\// { count[$2]++ } END { for (file in count) print file, count[file] }' "$work/scan" |
    sort > "$work/counts"
  while read -r file now; do
    before=$(awk -v file="$file" '$1 == file { print $2; exit }' "$list")
    words=$(awk -v file="$file" '$1 == "word" && $2 == file { print "    " $2 ":" $3 ": " $4 }' "$work/scan")
    if ((now > ${before:-0})); then
      complain "native/src/$file: $now words of a transport, and ${before:-0} may be there; no file outside transport/ names a"\
        "descriptor, a futex, a socket or a process id: ask the transport"$'\n'"$words"
    elif ((now < before)); then
      complain "$frozen/seam.frozen: '$file $before' is more than there is: write '$file $now'"
    fi
  done < "$work/counts"
  while read -r file before; do
    awk -v file="$file" '$1 == file { found = 1 } END { exit !found }' "$work/counts" ||
      complain "$frozen/seam.frozen: '$file $before' names a file without such words: delete this line"
  done < "$list"
}

scan > "$work/scan"
touch "$work/pairs"
check_order arrows.frozen
check_order seam.frozen
check_arrows
check_seam
((failed == 0)) || { echo "The walls of native/src are crossed, or a list is out of date; see docs/internals/walls.md"; exit 1; }
echo "walls: $(wc -l < "$home/$frozen/arrows.frozen") frozen includes," \
  "$(awk '{ sum += $2 } END { print sum + 0 }' "$home/$frozen/seam.frozen") frozen words of a transport in" \
  "$(wc -l < "$home/$frozen/seam.frozen") files"
