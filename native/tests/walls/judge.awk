# SPDX-License-Identifier: Apache-2.0
# Reads what scan.awk prints, and prints the violations of the layers, tab-separated: FILE, LINE, INCLUDED, what is wrong
# and what to do. Usage: awk -v layers=LAYERS -f judge.awk FILE, where each line of LAYERS has the folders of a layer.

BEGIN {
  count = split(layers, lines, "\n")
  for (i = 1; i <= count; i++) {
    folders = split(lines[i], names, " ")
    for (j = 1; j <= folders; j++) {
      layer[names[j]] = i
      below[names[j]] = ""
      for (k = i + 1; k <= count; k++) below[names[j]] = below[names[j]] (lines[k] == "" ? "" : " " lines[k])
    }
  }
}

$1 == "arrow" {
  why = violation(folder($2), folder($4), $2, $4)
  if (why != "") printf "%s\t%s\t%s\t%s\n", $2, $3, $4, why
}

function folder(path) { sub(/\/.*/, "", path); return path }

function violation(from, to, file, included) {
  if (included ~ /^\./) return "a path is told from native/src on: write folder/file"
  if (!(from in layer)) return "the folder " from " has no layer: give it one in native/tests/walls/walls.sh"
  if (!(to in layer)) return "the folder " to " has no layer: give it one in native/tests/walls/walls.sh"
  if (included ~ /^transport\/shm\// && from != "transport")
    return "nobody outside transport/ includes transport/shm: use what every transport has, in transport/ or transport/memory/"
  if (included ~ /^transport\/shm\// && file ~ /^transport\/(memory|chaos)\//)
    return "transport/memory and transport/chaos serve every transport, so they do not include transport/shm: move what both need to transport/memory"
  if (from != to && layer[to] <= layer[from])
    return from " includes only lower layers (" substr(below[from], 2) "): let the caller hand in what is needed, or move it down"
  return ""
}
