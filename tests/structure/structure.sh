#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints how the project is built: the figures that docs/internals/walls.md gives a bound for. Reads sources only.
#
#   structure.sh [HOME]
set -euo pipefail
export LC_ALL=C

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
home=$(readlink -f "${1:-$here/../..}")
readonly here home
readonly core=$home/native/src rooms=$home/lci-reactive/src/main/java/io/lci/internal

row() { printf '%-58s %s\n' "$1" "$2"; }

# Lines of the file that has most, of those named on standard input.
longest() { xargs -d '\n' wc -l | awk '$2 != "total"' | sort -n | tail -1 | sed "s|$home/||" | awk '{ print $1 " (" $2 ")" }'; }

# Functions that a class declares in its header, and the fields whose names end in an underscore.
functions_of() { sed -n '/^class .*{/,/^};/p' "$1" | grep -cE '^  [A-Za-z].*[a-z_]+\(.*(;|\{)' || true; }
fields_of() { sed -n '/^class .*{/,/^};/p' "$1" | grep -cE '^  [A-Za-z].*[a-z]_(;|\{| =|\[)' || true; }

# The class of protocol/ with most fields of its own.
most_fields() {
  local file count
  while read -r file; do
    count=$(fields_of "$file")
    echo "$count ($(basename "$file"))"
  done < <(grep -l 'final : public Protocol {' "$core"/protocol/*.hpp) | sort -n | tail -1
}

row 'rooms of the core' "$(find "$core" -mindepth 1 -maxdepth 1 -type d | wc -l)"
row 'includes that cross a wall, words of a transport outside' \
  "$("$home/native/tests/walls/walls.sh" | sed -n 's/.*includes, \(.*\)/\1/p')"
row 'device/device.hpp: lines, functions' \
  "$(wc -l < "$core/device/device.hpp"), $(functions_of "$core/device/device.hpp")"
row 'classes of protocol/ that a device has' "$(grep -l 'final : public Protocol {' "$core"/protocol/*.hpp | wc -l)"
row 'most fields in one of them' "$(most_fields)"
row 'longest file of the core' "$(find "$core" -name '*.[ch]pp' | longest)"
row 'deliberate faults named in product files' \
  "$(grep -rlE 'LCI_MUTATED|MUTATED' "$core" "$home/native/include" "$home"/*/src/main | wc -l)"
row 'rooms of io.lci.internal, without cycles (WallsTest)' "$(find "$rooms" -mindepth 1 -maxdepth 1 -type d | wc -l)"
row 'longest file of io.lci.internal' "$(find "$rooms" -name '*.java' | longest)"
