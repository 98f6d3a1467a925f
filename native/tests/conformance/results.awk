# SPDX-License-Identifier: Apache-2.0
# Results out of JUnit reports: those of ctest, of GoogleTest and of Maven's surefire. Lines: test <TAB>
# passed|failed|skipped; a test with several instances (parameters) has several lines.

function attribute(tag, name) {
  if (!match(tag, "[ \t]" name "=\"[^\"]*\"")) return ""
  tag = substr(tag, RSTART, RLENGTH)
  sub(/^[^"]*"/, "", tag)
  sub(/"$/, "", tag)
  return tag
}

function flush() {
  if (test != "") print test "\t" result
  test = ""
}

/<testcase[ \t]/ {
  flush()
  name = attribute($0, "name")
  class = attribute($0, "classname")
  status = attribute($0, "status")
  if (class ~ /^io\.lci\./) {
    sub(/.*\./, "", class)
    sub(/[^A-Za-z0-9_].*/, "", name)
    test = class "#" name
  } else {
    if (class != name) name = class "." name  # GoogleTest's own
    sub(/^[^\/.]*\//, "", name)
    sub(/\/.*/, "", name)
    test = name
  }
  result = status == "" || status == "run" ? "passed" : status == "fail" ? "failed" : "skipped"
}
/<(failure|error)[ \t>\/]/ { result = "failed" }
/<skipped[ \t>\/]/ { result = "skipped" }
/<\/testsuite>/ { flush() }
END { flush() }
