# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci soak-report.

# What differs between a commit and this one, of what the parts run.
changed_since() {
  git -C "$home" diff --name-only "$1" HEAD | awk '
    /^tests\// || /^native\/(tests|bench)\// || /\/src\/(test|jcstress)\// { tests = 1; next }
    /^native\/tools\// { launcher = 1; next }
    /^native\// { core = 1 }
    /^lci$/ || /^scripts\/lci\// || /(^|\/)pom\.xml$/ { build = 1 }
    /\/src\/main\// { java = 1 }
    END {
      if (core) list = ", core"
      if (launcher) list = list ", launcher"
      if (java) list = list ", Java"
      if (tests) list = list ", tests"
      if (build) list = list ", build"
      print list == "" ? "-" : substr(list, 3)
    }'
}

# soak_row PART WHAT PAGE: its newest result on this commit or one before it.
soak_row() {
  local result commit
  while read -r result; do
    commit=$(basename "$(dirname "$result")")
    git -C "$home" merge-base --is-ancestor "$commit" HEAD 2> /dev/null || continue
    awk -F '\t' -v what="$2" -v commit="${commit:0:7}" -v since="$(changed_since "$commit")" \
      '{ printf "| %s | %s | %s | %s | %s | %s | `%s` | %s |\n", $1, what, $2, $3, $4, $5, commit, since }' "$result"
    return
  done < <(find "$state/soak" -name "$1.result" -printf '%T@ %p\n' | sort -rn | cut -d ' ' -f 2-)
  # What another clone has run stays as it was told.
  grep -m 1 "^| $1 | .* | .* | .* | .* | .* | \`" "$3" 2> /dev/null || printf '| %s | %s | not run | | | | | |\n' "$1" "$2"
}

# The notes under the table are written by hand, and stay.
cmd_soak-report() {
  local page=$home/docs/internals/soak.md name deadline description notes=''
  [[ -d $state/soak ]] || die "no soak results; run ./lci test soak first"
  [[ ! -f $page ]] || notes=$(sed -n '/^## Notes$/,$p' "$page")
  {
    printf '# Soak\n\nThe full figures, by `./lci test soak`, joined by `./lci soak-report`: the last run of each part.\n'
    printf '*Changed since* says what differs between its commit and `%s`.\n\n' "$(git -C "$home" rev-parse --short=7 HEAD)"
    printf '%s, %s processors.\n\n' "$(uname -sr | sed 's/-.*//')" "$(nproc)"
    printf '| Part | What | Result | Seconds | Day | Summary | Commit | Changed since |\n|---|---|---|---|---|---|---|---|\n'
    while read -r name deadline description; do soak_row "$name" "$description" "$page"; done < <(grep . <<< "$SOAK_PARTS")
    [[ -z $notes ]] || printf '\n%s\n' "$notes"
  } > "$state/soak.md"
  mv "$state/soak.md" "$page"
  say "lci: wrote docs/internals/soak.md"
}
