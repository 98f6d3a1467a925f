# SPDX-License-Identifier: Apache-2.0
# What tests say of the rows that they prove, from their sources (C++, C, Java, and scripts/lci/test for whole suites). Lines:
#   test <TAB> proves|partly <TAB> row <TAB> what is missing <TAB> transports <TAB> suite <TAB> full figures in the soak
# In a comment above a test stands "Proves: ROW...", or "Partly: ROW (what is missing)", and, where the file does not
# say it, "On: TRANSPORT..." (inproc, processes, rings, tcp, chaos), or "On: shm (why nowhere else)".

function fault(what) {
  printf "%s:%d: %s\n", FILENAME, FNR, what > "/dev/stderr"
  bad = 1
}

function end_test(   i, on) {
  if (test != "") {
    on = where != "" ? where : on_file
    if (where == "" && on != "" && (body " " test) ~ /[Cc]haos/ && on !~ /chaos/) on = (on == "" ? "" : on ", ") "chaos"
    for (i = 1; i <= count; i++) print test "\t" claims[i] "\t" on "\t" suite "\t" (body ~ /LCI_TIER|soak\(\)|seeds\(\)|rounds\(\)/)
    if (count == 0) print test "\t\t\t\t" on "\t" suite "\t0"
  }
  test = body = where = ""
  count = 0
}

function begin_test(name,   i) {
  end_test()
  test = name
  count = above
  for (i = 1; i <= above; i++) claims[i] = said[i]
  where = on_above
  above = 0
  on_above = ""
}

function begin_file() {
  end_test()
  if (above) fault("no test follows the claim in " last)
  above = 0
  on_above = on_file = ""
  name = FILENAME
  sub(/.*\//, "", name)
  class = name
  sub(/\.[a-z]*$/, "", class)
  kind = name ~ /\.sh$/ ? "tool" : name ~ /\.java$/ ? "java" : name ~ /\.c$/ ? "c" : "cpp"
  suite = kind == "java" ? "java" : "native"
  if (FILENAME ~ /multiprocess/ || class ~ /^TwoProcesses/) on_file = "processes"
  last = FILENAME
  if (kind == "c") on_file = "inproc"
}

FNR == 1 { begin_file() }

# What is used says where it runs; the first look is enough, for it stands at the top.
on_file == "" && /support\/job\.hpp|support\/lane_driver\.hpp|LciTestJob/ { on_file = "inproc" }

/^ *(\/\/\/?|#|\/?\*) .*Proves: / {
  line = $0
  sub(/.*Proves: */, "", line)
  sub(/[. ]*(\*\/ *)?$/, "", line)
  n = split(line, rows, / +/)
  for (i = 1; i <= n; i++) said[++above] = "proves\t" rows[i] "\t"
}
/^ *(\/\/\/?|#|\*) .*Partly: / {
  line = $0
  sub(/.*Partly: */, "", line)
  row = line
  sub(/ .*/, "", row)
  if (line !~ /\(.*\)/) fault("\"Partly: ROW (what is missing)\" is needed")
  sub(/^[^(]*\(/, "", line)
  sub(/\)[^)]*$/, "", line)
  said[++above] = "partly\t" row "\t" line
}
/^ *(\/\/\/?|#|\*) On: / {
  on_above = $0
  sub(/.*On: */, "", on_above)
  sub(/[. ]*$/, "", on_above)
}

kind == "cpp" && /^TEST(_F|_P)?\(/ {
  name = $0
  sub(/^TEST[_FP]*\(/, "", name)
  sub(/\).*/, "", name)
  sub(/, */, ".", name)
  begin_test(name)
}
kind == "cpp" && /^CONFORMANCE\(/ {
  name = $0
  sub(/^CONFORMANCE\( */, "", name)
  sub(/[,)] *[{"].*|\).*/, "", name)
  sub(/, */, "_", name)
  begin_test("Conformance." name)
  where = "inproc, processes, rings, tcp, chaos"
}
kind == "c" && /^int main\(/ { begin_test(class) }
kind == "java" && /^  @Everywhere/ { on_above = "inproc, processes, chaos" }
kind == "java" && /^  (public )?void [A-Za-z0-9_]+\(/ {
  name = $0
  sub(/\(.*/, "", name)
  sub(/.* /, "", name)
  begin_test(class "#" name)
}
kind == "tool" && /^suite_[a-z-]+\(\)/ {
  end_test()  # it belongs to the suite before
  suite = $0
  sub(/\(\).*/, "", suite)
  sub(/^suite_/, "", suite)
  begin_test("suite " suite)
}

test != "" { body = body $0 }

END {
  end_test()
  if (above) fault("no test follows the claim")
  exit bad
}
