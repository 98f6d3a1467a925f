# SPDX-License-Identifier: Apache-2.0
# Reads sources, leaves out their comments, and prints
#   arrow FILE LINE INCLUDED   for each include of one of `folders`, or of a path that starts with a dot
#   word FILE LINE WORD        for each word that matches `seam` as a whole
# Usage: awk -v folders="api base" -v seam=PATTERN -f scan.awk FILE...

BEGIN {
  count = split(folders, names, " ")
  for (i = 1; i <= count; i++) is_folder[names[i]] = 1
  seam = "^(" seam ")$"
}

FNR == 1 { in_comment = 0 }

{
  code = code_of($0)
  if (code ~ /^[ \t]*#[ \t]*include[ \t]*["<]/) include(code)
  while (match(code, /\/?[A-Za-z_0-9]+/)) {
    word = substr(code, RSTART, RLENGTH)
    code = substr(code, RSTART + RLENGTH)
    if (word != "/proc") sub(/^\//, "", word)
    if (word ~ seam) print "word", FILENAME, FNR, word
  }
}

function include(line,   parts) {
  sub(/^[^"<]*["<]/, "", line)
  sub(/[">].*/, "", line)
  if ((split(line, parts, "/") > 1 && parts[1] in is_folder) || line ~ /^\./) print "arrow", FILENAME, FNR, line
}

# code_of(line): what is no comment; strings stay, and none of them goes on over the end of a line.
function code_of(line,   code) {
  code = ""
  while (line != "") {
    if (in_comment) {
      if (!match(line, /\*\//)) return code
      in_comment = 0
      line = substr(line, RSTART + 2)
      continue
    }
    if (!match(line, /["']|\/\/|\/\*/)) return code line
    code = code substr(line, 1, RSTART - 1)
    line = substr(line, RSTART)
    if (line ~ /^\/\//) return code
    if (line ~ /^\/\*/) {
      in_comment = 1
      line = substr(line, 3)
      continue
    }
    # A quote that opens nothing stands between the digits of a number.
    if (!match(line, /^"([^"\\]|\\.)*"/) && !match(line, /^'([^'\\]|\\.)'/)) RLENGTH = 1
    code = code substr(line, 1, RLENGTH)
    line = substr(line, RLENGTH + 1)
  }
  return code
}
