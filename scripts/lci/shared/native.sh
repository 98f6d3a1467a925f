# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Builds of the native core for tests.

# native_configure FOLDER CMAKE-OPTION...: a build of core, tests and tools.
native_configure() {
  local folder=$1
  shift
  forget_moved "$folder"
  cmake -S "$home/native" -B "$folder" -DLCI_TEST_CHECKS=ON -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$folder/lib" "$@"
}

native_build_with() { native_configure "$@" && cmake --build "$1" -j2; }
build_native_tests() { native_build_with "$native_test_build" -DCMAKE_BUILD_TYPE=Release; }

# With the deliberate faults in it, each off until LCI_MUTATION names it. Hardly optimized: it is run, not measured.
build_native_faulty() {
  native_configure "$native_faulty" -DLCI_MUTATIONS=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" &&
    cmake --build "$native_faulty" -j2 --target lci lci_{unit,conformance,stress,multiprocess}_tests
}

build_native_tsan() { native_build_with "$state/native-tsan" -DLCI_SANITIZE=thread; }

native_sources() {
  find native/src native/tests native/bench native/tools native/include \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print0
}
