# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./lci api-diff.

# The modules with a public Java API.
readonly API_MODULES='lci-reactive lci-metrics'

# api_build FOLDER MAVEN-OPTION...: builds the API's modules of a tree without what it needs only to run.
api_build() {
  local folder=$1
  shift
  maven_in "$folder" -DskipTests -Dspotless.check.skip -Dlci.native.skip -pl "${API_MODULES// /,}" -am "$@"
}

# api_baseline TAG: the jars of the tag, as .lci/api/baseline/MODULE.jar.
api_baseline() {
  local module jar
  rm -rf "$state/api" && mkdir -p "$state/api/source" "$state/api/baseline"
  git -C "$home" archive "$1" | tar -x -C "$state/api/source"
  api_build "$state/api/source" package > "$state/logs/api-baseline.log" 2>&1 ||
    { tail -n 20 "$state/logs/api-baseline.log" >&2; die "$1 cannot be built; see .lci/logs/api-baseline.log"; }
  for module in $API_MODULES; do
    for jar in "$state/api/source/$module/target/$module"-*.jar; do
      [[ $jar == *-sources.jar || $jar == *-tests.jar ]] || cp "$jar" "$state/api/baseline/$module.jar"
    done
  done
}

cmd_api-diff() {
  local tag=${1:-} log=$state/logs/api-diff.log code=0 module
  (($# <= 1)) || misused "api-diff takes one tag; see ./lci --help"
  [[ $(git -C "$home" rev-parse --show-toplevel 2> /dev/null) == "$home" ]] ||
    die "api-diff builds the older version from a tag, and this is no git checkout"
  [[ -n $tag ]] || tag=$(git -C "$home" describe --tags --abbrev=0 2> /dev/null) ||
    die "there is no tag yet, so there is nothing to compare the API with"
  git -C "$home" rev-parse -q --verify "$tag^{commit}" > /dev/null || die "there is no tag '$tag' to compare the API with"
  need_tools
  mkdir -p "$state/logs"
  say "lci: building $tag, and comparing its API with this one (log: .lci/logs/api-diff.log)"
  api_baseline "$tag"
  api_build "$home" "-Dapi.baseline=$state/api/baseline" verify > "$log" 2>&1 || code=$?
  for module in $API_MODULES; do
    [[ ! -s $home/$module/target/japicmp/api-diff.diff ]] || grep -v '^WARNING: ' "$home/$module/target/japicmp/api-diff.diff"
  done
  rm -rf "$state/api/source"
  ((code == 0)) || { grep -m 5 '^\[ERROR\]' "$log" >&2; die "the public API is not compatible with $tag, or could not be compared"; }
  say "lci: the public API is compatible with $tag"
}
