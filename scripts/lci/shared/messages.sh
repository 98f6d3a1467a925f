# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is said on standard error, and the exit codes that go with it.

say() { printf '%s\n' "$*" >&2; }
end_with() { local code=$1; shift; say "lci: $*"; exit "$code"; }
die() { end_with 1 "$@"; }
misused() { end_with 2 "$@"; }

# closest WORD: the first word of the line on standard input that is least slips away from it (a letter too many, missing,
# wrong, or two exchanged); nothing if that is more than two.
closest() {
  awk -v word="$1" '
    function least(a, b) { return a < b ? a : b }
    function slips(a, b,   d, i, j) {
      for (i = 0; i <= length(a); i++) d[i, 0] = i
      for (j = 0; j <= length(b); j++) d[0, j] = j
      for (i = 1; i <= length(a); i++) for (j = 1; j <= length(b); j++) {
        d[i, j] = least(d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)), 1 + least(d[i - 1, j], d[i, j - 1]))
        if (i > 1 && j > 1 && substr(a, i - 1, 2) == substr(b, j, 1) substr(b, j - 1, 1))
          d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
      }
      return d[length(a), length(b)]
    }
    BEGIN { best = 3 }
    NF && slips(word, $1) < best { best = slips(word, $1); name = $1 }
    END { print name }'
}
