# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The build: Maven over all modules, once for each state of the sources.

# A number that changes with any source, and with the place. Not with the JDK: the bytecode is for 17 whoever compiles it;
# but with whether there is one for the calls by java.lang.foreign.
source_hash() {
  (cd "$home" && {
    [[ ! -d tests ]] || find tests -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    find pom.xml native ./*/pom.xml ./*/src -path 'native/build*' -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    echo "$home${newer_jdk:+ ffm}"
  } | sha256sum | cut -d' ' -f1)
}

# maven_in FOLDER ARGS...
maven_in() {
  local folder=$1 options=(-ntp -B)
  shift
  [[ -z ${newer_jdk:-} || $newer_jdk == "$jdk" ]] || options+=("-Dlci.native.ffm.jdk=$newer_jdk")
  (cd "$folder" && mvn "${options[@]}" "$@" < /dev/null)
}

maven() { maven_in "$home" "$@"; }
was_built() { [[ -x $launcher && -f $samples_jar ]]; }
is_current() { was_built && [[ -f $build_stamp && $(cat "$build_stamp") == "$1" ]]; }

# lock_build: until the end of this process, or until unlock_build, nobody else builds here.
lock_build() {
  { mkdir -p "$state/logs" && exec 9> "$state/build.lock"; } 2> /dev/null || cannot_build
  flock -n 9 && return
  say "lci: waiting for another build of this tree"
  flock 9
}

cannot_build() {
  local place=$state
  [[ -e $place ]] || place=$home
  die "this tree has to be built, but $place is $(stat -c %U "$place")'s, or read-only: build it as its owner (./lci build)," \
    "or use a checkout of your own"
}

unlock_build() { exec 9>&-; }

# forget_moved FOLDER: a build folder of CMake that was made elsewhere, in the clone that this one was copied or moved from,
# is of no use here: CMake refuses it.
forget_moved() {
  local cache=$1/CMakeCache.txt
  [[ -f $cache ]] || return 0
  grep -qxF "CMAKE_CACHEFILE_DIR:INTERNAL=$(realpath "$1")" "$cache" && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$home/native" "$cache" ||
    rm -rf "$1"
}

# make_all HASH: builds and installs all modules.
make_all() {
  local first=
  was_built || first='the first time takes minutes; '
  say "lci: building (${first}log: .lci/logs/build.log)"
  [[ -n $newer_jdk ]] || say "lci: no JDK of $FFM_RELEASE or newer here: calls by java.lang.foreign are left out, JNA makes them all"
  rm -f "$build_stamp"
  forget_moved "$native_build"
  # Maven writes the jar in place: a sample that runs reads on in the file that it has open, and Maven gets another.
  [[ ! -f $samples_jar ]] || { cp -p "$samples_jar" "$samples_jar.new" && mv "$samples_jar.new" "$samples_jar"; }
  # Formatting is a matter for tests, not for those who only want to run something.
  in_large_pages maven -DskipTests -Dspotless.check.skip install > "$build_log" 2>&1 || {
    grep -v '^\[INFO\]' "$build_log" | grep -E '^\[ERROR\]|error:|Error ' | head -n 20 >&2 || tail -n 20 "$build_log" >&2
    die "the build failed; see .lci/logs/build.log"
  }
  [[ -x $launcher ]] || die "the build made no launcher: $launcher is missing"
  archive_classes
  echo "$1" > "$build_stamp"
}

# What Maven says that it installed: the modules, and where.
installed() {
  sed -n 's|^\[INFO\] Installing .* to \(.*\)/\([^/]*\)/[^/]*/[^/]*\.pom$|\1\t\2|p' "$build_log" |
    awk -F '\t' '{ modules = modules sep $2; sep = ", "; place = $1 } END { print modules "; installed in " place }'
}

# build: for those who want to run something; does nothing when nothing has changed.
build() {
  local hash
  need_tools
  hash=$(source_hash)
  # Whoever only runs what is there need not be able to write here.
  ! is_current "$hash" || return 0
  lock_build
  hash=$(source_hash)
  is_current "$hash" || make_all "$hash"
  unlock_build
}

# build_and_install: for those who want the modules. They may be gone, or another checkout's, whatever was built here.
build_and_install() {
  need_tools
  lock_build
  make_all "$(source_hash)"
  unlock_build
}
