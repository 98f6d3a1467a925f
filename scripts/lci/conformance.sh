# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci conformance.

cmd_conformance() {
  [[ -f $results/native && -f $results/java ]] || die "there is no run to write it from: run ./lci test first"
  need_tools
  [[ $(cat "$results.stamp") == "$(source_hash)" ]] || die "sources have changed since the last ./lci test: run it again"
  "$home/native/tests/conformance/conformance.sh" --results "$results"
  say "lci: wrote docs/internals/conformance.md"
}
