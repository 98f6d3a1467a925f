#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program of somebody else over the installed library: found by CMake and by pkg-config, in C and in C++11; and as a
# part of his own CMake project. Usage: package_test.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: package_test.sh BUILD}")
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly build source work

cat > "$work/hello.c" << 'EOF'
#include <lci/lci.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  lci_comp* inbox;
  lci_status status;
  if (lci_global_init(NULL, NULL) != LCI_DONE || lci_queue_create(NULL, 4, &inbox) != LCI_DONE ||
      lci_port_open(NULL, 1, "hello", inbox, 0, 0) != LCI_DONE ||
      lci_post_am(NULL, (uint32_t)lci_global_rank(), 1, 0, "hello", 6, NULL, 0) != LCI_DONE) {
    fprintf(stderr, "%s\n", lci_last_error());
    return 1;
  }
  while (lci_queue_pop(inbox, &status) != LCI_DONE) lci_progress(NULL);
  printf("%s, rank %d of %d\n", (char*)status.buffer, lci_global_rank(), lci_global_size());
  lci_buffer_free(status.buffer);
  return lci_global_fini(1000) == LCI_DONE ? 0 : 1;
}
EOF
cp "$work/hello.c" "$work/hello11.cpp"

# says_hello PROGRAM
says_hello() {
  local out
  out=$("$1")
  [[ $out == "hello, rank 0 of 1" ]] || { echo "$1 said '$out'"; exit 1; }
  echo "$1: $out"
}

# project FOLDER LINES...: a CMake project of one program in each language.
project() {
  mkdir -p "$1"
  {
    echo 'cmake_minimum_required(VERSION 3.22)'
    echo 'project(consumer LANGUAGES C CXX)'
    printf '%s\n' "${@:2}"
    echo "add_executable(hello $work/hello.c)"
    echo "add_executable(hello11 $work/hello11.cpp)"
    echo 'set_target_properties(hello11 PROPERTIES CXX_STANDARD 11 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)'
    echo 'target_link_libraries(hello PRIVATE lci::lci)'
    echo 'target_link_libraries(hello11 PRIVATE lci::lci)'
  } > "$1/CMakeLists.txt"
}

cmake --install "$build" --prefix "$work/installed" > "$work/install.log" || { cat "$work/install.log"; exit 1; }
# The header, the library, lci.pc, and three files for CMake.
[[ $(find "$work/installed" -type f | wc -l) == 6 ]] || { find "$work/installed"; exit 1; }

project "$work/found" 'find_package(lci 0.1 REQUIRED)'
cmake -S "$work/found" -B "$work/found/build" -DCMAKE_PREFIX_PATH="$work/installed" > "$work/log" &&
  cmake --build "$work/found/build" >> "$work/log" || { cat "$work/log"; exit 1; }
says_hello "$work/found/build/hello"
says_hello "$work/found/build/hello11"

if command -v pkg-config > /dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/installed" -name lci.pc)")
  export PKG_CONFIG_PATH
  read -ra flags < <(pkg-config --cflags --libs lci)
  "${CC:-cc}" -o "$work/hello" "$work/hello.c" "${flags[@]}" -Wl,-rpath,"$(pkg-config --variable=libdir lci)"
  LD_LIBRARY_PATH=$(dirname "$(find "$work/installed" -name liblci.so)") says_hello "$work/hello"
else
  echo "pkg-config is not installed: lci.pc was installed, and is not looked at"
fi

# As a part of another project (what FetchContent does) it brings its library, and neither tests nor programs.
project "$work/part" "add_subdirectory($source lci)"
cmake -S "$work/part" -B "$work/part/build" > "$work/log" || { cat "$work/log"; exit 1; }
targets=$(cmake --build "$work/part/build" --target help)
grep -q 'lci_objects' <<< "$targets" && ! grep -q '_tests\|lci_run' <<< "$targets" || { echo "$targets"; exit 1; }
echo passed
