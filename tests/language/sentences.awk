# SPDX-License-Identifier: Apache-2.0
# The prose of Markdown pages (*.md), and of the comments of Java and C, one sentence to a line:
#   FILE:LINE <TAB> sentence
# Code is left out: blocks between fences, what stands between backquotes, in {@code ..} or {@link ..}. So are questions.

function flush() {
  gsub(/^[ "(*]+/, "", sentence)
  if (sentence != "" && sentence !~ /\?[)"]*$/) print FILENAME ":" begun "\t" sentence
  sentence = ""
}

# A word of prose; a sentence ends with it where it ends with a full stop.
function word(text) {
  if (sentence == "") begun = FNR
  sentence = sentence (sentence == "" ? "" : " ") text
  if (text ~ /[.!?][)"*]*$/) flush()
}

function words(line,   n, i, parts) {
  n = split(line, parts, /[ \t]+/)
  for (i = 1; i <= n; i++) {
    if (parts[i] == "") continue
    if (inside) {  # of {@code ..}, which may go over several lines
      if (parts[i] !~ /}/) continue
      inside = 0
      sub(/^[^}]*}/, "CODE", parts[i])
    } else if (parts[i] ~ /\{@/) {
      inside = 1
      sub(/\{@.*/, "", parts[i])
      if (parts[i] == "") continue
    }
    word(parts[i])
  }
}

FNR == 1 { flush(); fenced = comment = inside = 0 }

FILENAME ~ /\.md$/ {
  if (/^ *```/) { flush(); fenced = !fenced; next }
  if (fenced) next
  gsub(/<!--[^>]*-->/, "")
  if (/^ *$/) { flush(); next }
  gsub(/`[^`]*`/, "CODE")
  gsub(/\]\([^)]*\)/, "")
  gsub(/[][!]/, "")
  if (/^#/) { flush(); sub(/^#+ */, ""); words($0); flush(); next }
  if (/^\|/) {
    flush()
    n = split($0, cells, "|")
    for (c = 2; c < n; c++) { words(cells[c]); flush() }
    next
  }
  if (/^ *([-*]|[0-9]+\.) /) { flush(); sub(/^ *([-*]|[0-9]+\.) /, "") }
  words($0)
  next
}

# Comments: /** .. */ and /* .. */, in C also behind a member, and //.
{
  line = $0
  text = ""
  if (!comment && line ~ /^[^"]*\/\*/) { comment = 1; flush(); sub(/^[^"]*\/\*+<?/, "", line) }
  else if (!comment && line ~ /^ *\/\/ /) { sub(/^ *\/\/ /, "", line); flush(); words(line); flush(); next }
  if (!comment) next
  ends = sub(/\*\/.*/, "", line)
  sub(/^[ \t]*\*? ?/, "", line)
  gsub(/@[{}]/, "", line)
  gsub(/@p [A-Za-z_]+/, "CODE", line)
  gsub(/\{@[a-z]+ [^{}]*}/, "CODE", line)
  gsub(/<\/?(code|em|b|i|a|pre)[^>]*>/, "", line)
  if (line ~ /^ *$/ || line ~ /^ *</) { flush(); gsub(/<[^>]*>/, "", line) }
  if (line ~ /^ *-  *[^ ]/ ) { flush(); sub(/^ *- */, "", line) }
  while (match(line, /@(param|throws|name|file|return|see|author|since) */)) {
    words(substr(line, 1, RSTART - 1))
    flush()
    tag = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    if (tag ~ /param|throws/) sub(/^[^ ]+ */, "", line)
    if (tag ~ /name|file/) { words(line); flush(); line = "" }
  }
  words(line)
  if (ends) { flush(); comment = 0 }
}

END { flush() }
