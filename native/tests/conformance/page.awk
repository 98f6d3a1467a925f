# SPDX-License-Identifier: Apache-2.0
# docs/internals/conformance.md out of five lists: rows, claims, results, faults, suites (their tiers). A row passes when it is
# proved, and everything that proves it ran and passed.

function area(id) { return id ~ /^SS-/ ? "SS" : substr(id, 1, 1) }
function add(list, item, sep) { return list == "" ? item : index(sep list sep, sep item sep) ? list : list sep item }

# A list of parts "a, b" joined with those that are there.
function merge(list, parts,   n, i, words) {
  n = split(parts, words, /, */)
  for (i = 1; i <= n; i++) list = add(list, words[i], ", ")
  return list
}

function as_pattern(glob) {
  gsub(/\./, "\\.", glob)
  gsub(/\*/, "[^#]*", glob)  # Java has # between class and test
  return "^(" glob ")$"
}

# Faults that a test notices, by the tables of mutations.
function faults_of(test,   i, list) {
  for (i = 1; i <= faults; i++) if (test ~ fault_pattern[i]) list = add(list, "`" fault_name[i] "`", ", ")
  return list
}

function state(row,   scope, parts) {
  scope = scope_of[row]
  if (scope ~ /^n\/a /) return "not applicable: " substr(scope, 5)
  if (scope ~ /^dropped /) return "dropped, " substr(scope, 9)
  if (scope ~ /^networks /) return "left to the networks, " substr(scope, 10)
  if (failing[row] != "") return "**failing**: " failing[row]
  if (proved[row] && !(row in missing)) return "passing"
  if (row in missing) return "partly; missing: " missing[row]
  return "missing"
}

BEGIN { FS = "\t" }

FILENAME == ROWS {
  if (/^#/ || NF == 0) next
  if (NF != 3) { print "rows.tsv:" FNR ": three columns are needed" > "/dev/stderr"; exit failed = 1 }
  order[++rows] = $1
  title[$1] = $2
  scope_of[$1] = $3
  next
}
FILENAME == RESULTS {
  if (result[$1] == "" || $2 == "failed" || result[$1] == "skipped") result[$1] = $2
  next
}
FILENAME == FAULTS {
  fault_name[++faults] = $1
  fault_pattern[faults] = as_pattern($2)
  next
}
FILENAME == SUITES { tiers[$1] = $2; more[$1] = $3; next }

# claims: test, kind, row, what is missing, transports, suite, whether the soak does more
$2 != "" {
  if (!($3 in title)) { print $1 " claims row " $3 ", which is not in rows.tsv" > "/dev/stderr"; failed = 1; next }
  if (scope_of[$3] != "ours") { print $1 " claims row " $3 ", which is not ours" > "/dev/stderr"; failed = 1; next }
  shown = $1 ~ /^suite / ? "`./lci test`: " substr($1, 7) : "`" $1 "`"
  tests[$3] = add(tests[$3], shown, "<br>")
  if (result[$1] != "passed") failing[$3] = add(failing[$3], shown (result[$1] == "failed" ? " failed" : " did not run"), ", ")
  if ($2 == "proves") proved[$3] = 1
  else missing[$3] = add(missing[$3], $4, "; ")
  if ($5 ~ /^shm \(/) {
    shm[$3] = add(shm[$3], "`" $1 "`: " substr($5, 6, length($5) - 6), "<br>")
    $5 = "shm"
  }
  on[$3] = merge(on[$3], $5)
  split(tiers[$6], tier, ",")
  from[$3] = merge(from[$3], tier[1] ($7 || ($1 ~ /^suite / && more[$6]) ? ", soak" : ""))
  noticed[$3] = merge(noticed[$3], faults_of($1))
}

END {
  if (failed) exit 1
  split("A B C D E G H J M U V X Y SS", areas, " ")
  split("Lifecycle and bootstrap|Resources|Posting|Status and codes|Completion objects|Protocols|Progress, backlog, locks|" \
        "Collectives|Monitoring, logging, environment|Java layers|Lane, loop, wake-up|Flow control|Streams and RPC|" \
        "What is easily got wrong", names, "|")
  for (a = 1; a in areas; a++) known[areas[a]] = 1
  for (i = 1; i <= rows; i++) {
    if (area(order[i]) in known) continue
    print "row " order[i] " is of an area that the page does not show" > "/dev/stderr"
    exit 1
  }
  for (i = 1; i <= rows; i++) {
    s = state(order[i])
    sub(/[,;:].*/, "", s)
    gsub(/\*/, "", s)
    sums[area(order[i]), s]++
    if (s == "passing" && noticed[order[i]] == "") unguarded[area(order[i])]++
  }
  split("passing|partly|missing|failing|dropped|left to the networks|not applicable", states, "|")
  print "# Conformance\n"
  print "Written by `./lci conformance`; do not edit. It says for each row of the specification which tests prove it, and what"
  print "became of them in the last `./lci test`; [testing.md](../testing.md#conformance) says how. A row passes only if its tests"
  print "prove all that it asks for, ran, and passed. *Fault*: a deliberate fault in the core that these tests notice.\n"
  print "*rings*: attribute `peer_memory`: a rank reads only what was sent to it, as over a network.\n"
  line = "| Area |"
  for (k = 1; k in states; k++) line = line " " states[k] " |"
  print line " passing without a fault |"
  print "|---|---|---|---|---|---|---|---|---|"
  for (a = 1; a in areas; a++) {
    line = "| " areas[a] " " names[a] " |"
    for (k = 1; k in states; k++) { n = sums[areas[a], states[k]] + 0; total[k] += n; line = line " " (n ? n : "") " |" }
    all += unguarded[areas[a]]
    print line " " unguarded[areas[a]] " |"
  }
  line = "| all |"
  for (k = 1; k in states; k++) line = line " " total[k] + 0 " |"
  print line " " all + 0 " |"
  for (a = 1; a in areas; a++) {
    print "\n## " areas[a] " " names[a] "\n"
    print "| Row | What | State | Tests | Transports | Tier | Fault |\n|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
      r = order[i]
      if (area(r) != areas[a]) continue
      print "| " r " | " title[r] " | " state(r) " | " tests[r] " | " on[r] " | " from[r] " | " noticed[r] " |"
    }
  }
  print "\n## Only where ranks read each other's memory\n"
  print "These tests show what a network cannot have. Elsewhere their rows have other tests, or say nothing.\n"
  print "| Row | What | Test, and why |\n|---|---|---|"
  for (i = 1; i <= rows; i++) if (order[i] in shm) print "| " order[i] " | " title[order[i]] " | " shm[order[i]] " |"
}
