# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds of the native core for tests.

# native_configure FOLDER CMAKE-OPTION...: a build of core, tests and tools.
native_configure() {
  local folder=$1
  shift
  forget_moved "$folder"
  forget_other_compiler "$folder" "$@"
  cmake -S "$home/native" -B "$folder" -DLCI_TEST_CHECKS=ON -DLCI_UNITY=ON -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$folder/lib" "$@"
}

# forget_other_compiler FOLDER CMAKE-OPTION...: when the compiler of a folder changes, CMake loses all other options.
forget_other_compiler() {
  local folder=$1 option
  [[ -f $folder/CMakeCache.txt ]] || return 0
  for option in "${@:2}"; do
    [[ $option == -DCMAKE_CXX_COMPILER=* ]] || continue
    grep -q "^CMAKE_CXX_COMPILER:.*[=/]${option#*=}$" "$folder/CMakeCache.txt" || rm -rf "$folder"
  done
}

# in_large_pages COMMAND...: what it allocates lies in pages of 2 MiB, where the system has them. A compiler touches some hundred
# MiB, and to touch a page for the first time takes 20 us in some virtual machines. [glibc]
in_large_pages() { GLIBC_TUNABLES=${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.malloc.hugetlb=1 "$@"; }

# native_build FOLDER TARGETS CMAKE-OPTION...: the targets, with spaces between, of a build; all without any. One process at a
# time builds in a folder: a suite waits for a build ahead of it.
native_build() {
  local folder=$1 targets=$2 lock=$1.lock make=()
  shift 2
  [[ -z $targets ]] || read -ra make <<< "--target $targets"
  mkdir -p "$(dirname "$folder")"
  (
    flock -n 8 || { echo "$BUILD_AHEAD of ${folder#"$home/"}; its log: .lci/logs/builds.log" && flock 8; }
    native_configure "$folder" "$@" && in_large_pages cmake --build "$folder" -j2 "${make[@]}"
  ) 8> "$lock"
}
readonly BUILD_AHEAD='lci: waiting for the build'

# The core as it is shipped, by gcc at full optimization; most tests by clang, which takes a third of gcc's time for them.
build_native_tests() {
  local by=
  if (need_clang); then by=$(command -v clang++); else say "lci: without clang, gcc compiles the tests, which takes longer"; fi
  native_build "$native_test_build" '' -DCMAKE_BUILD_TYPE=Release -DLCI_TEST_COMPILER="$by"
}
# With the fuzz targets, which run over the same core.
build_native_asan() { native_build_by_clang "$native_asan" '' -DLCI_SANITIZE=address,undefined -DLCI_FUZZ=ON; }
build_native_tsan() { native_build_by_clang "$native_tsan" '' -DLCI_SANITIZE=thread; }

# native_build_by_clang FOLDER TARGETS CMAKE-OPTION...: clang takes two thirds of gcc's time for instrumented builds, and half of it
# where nothing is optimized.
native_build_by_clang() {
  local folder=$1 targets=$2
  shift 2
  need_clang
  native_build "$folder" "$targets" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ "$@"
}

# With the deliberate faults in it, each off until LCI_MUTATION names it. The core is hardly optimized: it is run, not measured;
# without any optimization some tests take ten times as long. Tests that include nothing of the core are those of the build for
# tests.
build_native_faulty() {
  build_native_tests || return
  native_build_by_clang "$native_faulty" "lci $(echo lci_{unit,conformance,stress,multiprocess}_tests)" -DLCI_MUTATIONS=ON \
    -DLCI_TEST_OBJECTS="$native_test_build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG"
}

# What the suites of a tier need, in the order in which they need it. Runs beside them, for they leave a third of the
# processors' time. A build that fails here fails again, and is told, where it is needed.
build_ahead_quick() { build_native_tests; }
build_ahead_test() {
  local build
  for build in tests asan faulty tsan; do "build_native_$build" || true; done
}

native_sources() {
  find native/src native/tests native/bench native/tools native/include \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print0
}
