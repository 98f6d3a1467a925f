#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work and dir
# Tests of the check of the walls of native/src, on a tree of a few files. Usage: walls_test.sh HOME
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=../support/shell_tests.sh
source "$here/../support/shell_tests.sh"
home=$(realpath "${1:?usage: walls_test.sh HOME}")
readonly home

make_tree() {
  tree=$dir/tree
  source=$tree/native/src
  mkdir -p "$source"/{base,device,lane,flow,matching,transport/shm,transport/memory}
  touch "$source"/{base/error,device/device,flow/keys,transport/shm/ring,transport/memory/summary}.hpp
  printf '#include <vector>\n#include "base/error.hpp"\n#include "transport/memory/summary.hpp"\n' > "$source/device/post.cpp"
  printf 'void park() { sleep(1); }  // on a futex\n' > "$source/lane/park.cpp"
  printf '#include <linux/futex.h>\n' > "$source/transport/shm/bells.cpp"
}

# check: sets code and out.
check() {
  code=0
  out=$("$home/native/tests/walls/walls.sh" "$tree" 2>&1) || code=$?
}

# includes FILE INCLUDED: adds the include to the end of the file.
includes() { echo "#include \"$2\"" >> "$source/$1"; }

# refused TEXT...: the check fails and says all of that.
refused() {
  check
  equal "$code" 1 "$out"
  local text
  for text; do contains "$out" "$text"; done
}

test_sound_includes_pass_and_are_counted() {
  make_tree
  check
  equal "$code" 0 "$out"
  equal "$out" "walls: 2 includes, none crosses"
}

test_lower_layers_and_the_own_folder_are_open() {
  make_tree
  includes lane/park.cpp device/device.hpp
  includes lane/park.cpp transport/memory/summary.hpp
  includes device/post.cpp device/post.hpp
  includes transport/shm/bells.cpp transport/memory/summary.hpp
  check
  equal "$code" 0 "$out"
}

test_an_include_of_a_higher_layer_is_named_with_its_line() {
  make_tree
  includes device/post.cpp lane/lane.hpp
  refused "native/src/device/post.cpp:4: includes lane/lane.hpp; device includes only lower layers (protocol"
}

test_folders_of_one_layer_do_not_include_each_other() {
  make_tree
  includes matching/map.cpp flow/keys.hpp
  refused "native/src/matching/map.cpp:1: includes flow/keys.hpp"
}

test_brackets_and_blanks_hide_nothing() {
  make_tree
  echo '  #  include <device/post.hpp>' >> "$source/base/error.hpp"
  refused "native/src/base/error.hpp:1: includes device/post.hpp"
}

test_a_path_with_dots_is_refused() {
  make_tree
  includes base/error.hpp ../device/post.hpp
  refused "native/src/base/error.hpp:1: includes ../device/post.hpp; a path is told from native/src on"
}

test_shared_memory_is_closed_to_all_but_the_transport() {
  make_tree
  includes device/post.cpp transport/shm/ring.hpp
  includes transport/memory/summary.hpp transport/shm/ring.hpp
  refused "native/src/device/post.cpp:4: includes transport/shm/ring.hpp; nobody outside transport/" \
    "native/src/transport/memory/summary.hpp:1: includes transport/shm/ring.hpp; transport/memory"
}

test_a_folder_without_a_layer_is_refused() {
  make_tree
  mkdir "$source/attic"
  includes attic/chest.cpp base/error.hpp
  refused "native/src/attic/chest.cpp:1: includes base/error.hpp; the folder attic has no layer"
}

test_comments_do_not_count() {
  make_tree
  cat >> "$source/base/error.hpp" << 'END'
/* a memfd
#include "device/post.hpp"
   */ const char* address = "http://a/b"; // a pidfd
const int separated = 1'000'000; /* pid_t */ const char quote = '"';  // SCM_RIGHTS
END
  check
  equal "$code" 0 "$out"
}

test_code_after_a_comment_or_a_string_counts() {
  make_tree
  cat >> "$source/base/error.hpp" << 'END'
/* a comment */ const char* file = "// not a comment"; pid_t one;
const char* two = "/proc/self/exe";
END
  refused "native/src/base/error.hpp:1: 'pid_t' is a word of a transport" \
    "native/src/base/error.hpp:2: '/proc' is a word of a transport"
}

test_each_word_is_refused_with_its_line() {
  make_tree
  printf 'int fd;\nint pid;\n' >> "$source/lane/park.cpp"
  refused "native/src/lane/park.cpp:2: 'fd' is a word of a transport" "native/src/lane/park.cpp:3: 'pid' is a word"
}

test_transports_bootstraps_and_what_wraps_the_host_may_say_them() {
  make_tree
  mkdir -p "$source"/{bootstrap,host}
  echo 'pid_t process;' | tee "$source/bootstrap/files.cpp" "$source/host/process.cpp" > "$source/transport/shm/bells.cpp"
  check
  equal "$code" 0 "$out"
}

run_tests
