#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The deliberate faults of the core: tables ROOM.tsv beside this script. The sources know nothing of them.
#
#   faults.sh [OPTION...] check         each line is found exactly once, and each fault has its tests
#   faults.sh [OPTION...] names         the names, one to a line
#   faults.sh [OPTION...] tests [NAME]  name, program, pattern of tests, fault: a line for each pattern
#   faults.sh [OPTION...] copy FOLDER   FOLDER/src: the sources with all faults in them, off until LCI_MUTATION names
#                                       them; what has not changed is not written
# Options: --sources FOLDER, --tables FOLDER: others than those of the project.
#
# A row of a table: name, file below src, the line as it stands, the faulty line, tests, what the fault is; tabs between
# them. In the faulty line stands MUTATED, true where the fault is on. Lines are compared without the blanks around them,
# and one line can have one fault. Tests are PROGRAM:PATTERN, PROGRAM one of unit, conformance, stress and multiprocess;
# in conformance a pattern without a dot is a row, over ranks in one process. A name may have several rows: the faults
# are on together, and one of the rows has tests and words, the others "-".
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
sources=$here/../../src
tables=$here

usage() { sed -n 's/^#   \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# rows: those of all tables, each with FILE:LINE of its own before it.
rows() { (cd "$tables" && awk -F '\t' 'FNR > 1 { print FILENAME ":" FNR "\t" $0 }' ./*.tsv | sed 's|^\./||'); }

check() {
  rows | awk -F '\t' -v sources="$sources" '
    function wrong(what) { printf "%s: %s: %s\n", $1, $2, what; failed = 1 }
    # Counts the lines of a file, once.
    function load(file, line, code) {
      if (file in loaded) return
      loaded[file] = 1
      while ((code = (getline line < (sources "/" file))) > 0) {
        sub(/^[ \t]+/, "", line)
        sub(/[ \t]+$/, "", line)
        ++lines[file, line]
        found[file] = 1
      }
      close(sources "/" file)
    }
    {
      if (NF != 7) { wrong("has " NF - 1 " columns, not 6"); next }
      if ($2 !~ /^[a-z0-9_]+$/) wrong("a name has small letters, digits and _")
      load($3)
      if (!found[$3]) wrong("there is no " $3)
      else if (lines[$3, $4] != 1) wrong("found " lines[$3, $4] + 0 " times, not once, in " $3 ": " $4)
      if (($3, $4) in taken) wrong("this line has the fault " taken[$3, $4] " already")
      taken[$3, $4] = $2
      if ($5 !~ /(^|[^A-Za-z0-9_])MUTATED([^A-Za-z0-9_]|$)/) wrong("MUTATED is not in its faulty line")
      at[$2] = $1
      if ($6 == "-" && $7 == "-") next
      if (++described[$2] == 2) wrong("has tests in two rows")
      if ($7 == "" || $7 == "-") wrong("does not say what the fault is")
      n = split($6, patterns, " ")
      if (n == 0) wrong("has no tests")
      for (i = 1; i <= n; i++) {
        if (patterns[i] !~ /^(unit|conformance|stress|multiprocess):./) wrong("no test is called " patterns[i])
      }
    }
    END {
      for (name in at) if (!described[name]) { printf "%s: %s: has no row with tests\n", at[name], name; failed = 1 }
      if (!NR) { print "there are no faults in " sources; failed = 1 }
      exit failed
    }'
}

names() { rows | cut -f 2 | sort -u; }

tests() {
  rows | awk -F '\t' -v name="$1" '
    $6 == "-" || (name != "" && $2 != name) { next }
    {
      n = split($6, patterns, " ")
      for (i = 1; i <= n; i++) {
        program = pattern = patterns[i]
        sub(/:.*/, "", program)
        sub(/^[^:]*:/, "", pattern)
        print $2 "\t" program "\t" pattern "\t" $7
      }
    }'
}

# faulty FILE: the file with its faults, and what their lines use, under the same numbers of lines.
faulty() {
  rows | awk -F '\t' -v file="$1" '
    FILENAME == "-" {
      if ($3 != file) next
      line = $5
      while (match(line, /(^|[^A-Za-z0-9_"])MUTATED([^A-Za-z0-9_]|$)/)) {
        at = index(substr(line, RSTART), "MUTATED") + RSTART - 1
        line = substr(line, 1, at - 1) "LCI_MUTATED(\"" $2 "\")" substr(line, at + 7)
      }
      replacement[$4] = line
      next
    }
    {
      bare = $0
      sub(/^[ \t]+/, "", bare)
      sub(/[ \t]+$/, "", bare)
      if (bare in replacement) $0 = replacement[bare]
      print (FNR == 1 ? "#include \"mutation.hpp\"  " : "") $0
    }' - "$sources/$1"
}

# put FILE: what comes in, if it differs.
put() {
  mkdir -p "$(dirname "$1")"
  cat > "$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

copy() {
  local to=$1/src file
  local -A with_faults=()
  while read -r file; do with_faults[$file]=1; done < <(rows | cut -f 3)
  while read -r file; do
    if [[ -n ${with_faults[$file]:-} ]]; then faulty "$file"; else cat "$sources/$file"; fi | put "$to/$file"
  done < <(cd "$sources" && find . -type f | sed 's|^\./||')
  for file in mutation.hpp mutation.cpp; do put "$to/$file" < "$here/$file"; done
  while read -r file; do
    [[ -f $sources/$file || -f $here/$file ]] || rm "$to/$file"
  done < <(cd "$to" && find . -type f | sed 's|^\./||')
}

while [[ ${1:-} == --* ]]; do
  case $1 in
    --sources) sources=${2:?a folder} ;;
    --tables) tables=${2:?a folder} ;;
    *) usage ;;
  esac
  shift 2
done
case ${1:-} in
  check) check ;;
  names) names ;;
  tests) tests "${2:-}" ;;
  copy) (($# == 2)) || usage; check >&2 && copy "$2" ;;
  *) usage ;;
esac
