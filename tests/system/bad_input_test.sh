#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154  # shell_tests.sh sets work, dir and base
# What users do wrong, and poor machines: one clear line on standard error, a non-zero exit, no half-written result.
# Usage: LCI=./lci bad_input_test.sh
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=../../native/tests/support/shell_tests.sh
source "$here/../../native/tests/support/shell_tests.sh"
readonly lci=${LCI:?path of the lci tool}
genome=$(realpath "$here/../../samples/data/lambda_virus.fa.gz")
readonly genome

# kmer ARGS...: the job in two ranks; sets code, out and err (without the launcher's own lines).
kmer() { run_kmer "$lci" "$@"; }

run_kmer() {
  local tool=$1
  shift
  # The others are told why by rank 0's line: no need to end them by force, which could cut that line off.
  timeout "$DEADLINE_S" "$tool" run -n 2 --grace 20 kmer "$@" > "$dir/out" 2> "$dir/err.all" < /dev/null
  code=$?
  out=$(cat "$dir/out")
  err=$(grep -v '^lci-run: ' "$dir/err.all")
}

# refused WORDS: exit code other than 0, no output, one line, which says WORDS. What keeps ranks from joining is found by
# each of them for itself, and may be said once by each.
refused() {
  ((code != 0 && code != 124)) || fail "exit code $code; $err"
  equal "$(cut -d ' ' -f 1 <<< "$err" | sort | uniq -d)" "" "more than one line of a rank: $err"
  contains "${err,,}" "${1,,}"
  equal "$out" ""
}

test_good_input_is_accepted() {
  kmer -k 31 --histogram "$dir/histogram" "$genome"
  equal "$code" 0 "$err"
  [[ -s $dir/histogram ]] || fail "no histogram"
}

test_missing_file() {
  kmer --histogram "$dir/histogram" "$dir/none.fq"
  refused "$dir/none.fq"
  [[ ! -e $dir/histogram ]] || fail "a histogram was written"
}

test_directory_as_input() {
  kmer "$dir"
  refused "$dir"
}

test_truncated_gz() {
  head -c 9000 "$genome" > "$dir/cut.fa.gz"
  kmer --histogram "$dir/histogram" "$dir/cut.fa.gz"
  refused "$dir/cut.fa.gz"
  [[ ! -e $dir/histogram ]] || fail "a histogram was written"
}

test_damaged_gz() {
  { head -c 5000 "$genome"; head -c 200 /dev/zero; tail -c +5201 "$genome"; } > "$dir/bad.fa.gz"
  kmer --histogram "$dir/histogram" "$dir/bad.fa.gz"
  refused "$dir/bad.fa.gz"
  [[ ! -e $dir/histogram ]] || fail "a histogram was written"
}

test_k_out_of_range() {
  local k
  for k in 0 -1 64 many; do
    kmer -k $k "$genome"
    refused "-k"
  done
}

test_empty_file() {
  : > "$dir/empty.fa"
  kmer "$dir/empty.fa"
  refused "$dir/empty.fa"
}

test_text_that_is_no_sequence() {
  printf 'dear reader,\nthis is a letter.\n' > "$dir/letter.txt"
  kmer --histogram "$dir/histogram" "$dir/letter.txt"
  refused "$dir/letter.txt"
  [[ ! -e $dir/histogram ]] || fail "a histogram was written"
}

test_no_file_at_all() {
  kmer -k 31
  refused "file"
}

test_output_in_a_missing_directory() {
  kmer --histogram "$dir/none/histogram" "$genome"
  refused "$dir/none"
}

test_unknown_lci_property() {
  LCI_JAVA_OPTS=-Dlci.loosp=2 kmer "$genome"
  refused "lci.loosp"
}

test_bad_value_of_a_property() {
  LCI_JAVA_OPTS=-Dlci.loops=few kmer "$genome"
  refused "lci.loops"
}

test_bad_value_of_an_attribute() {
  LCI_ATTR_PACKETS=lots kmer "$genome"
  refused "packets"
}

# Mutation that must make it fail: attributes_ignore_unknown.
test_unknown_attribute() {
  LCI_ATTR_PACKTES=64 kmer "$genome"
  refused "packtes"
}

test_protected_jna() {
  LCI_JAVA_OPTS='-Djna.protected=true -Dlci.native.calls=jna' kmer "$genome"
  refused "jna.protected"
}

test_more_ranks_than_memory() {
  LCI_ATTR_MEMORY_LIMIT_BYTES=4096 kmer "$genome"
  refused "memory"
}

# in_namespace SCRIPT: runs it as root with mounts of its own.
in_namespace() {
  [[ $(id -u) == 0 ]] && unshare -m true 2> /dev/null || skip "no right to mount"
  unshare -m bash -c "$1" || skip "cannot mount"
}

test_temporary_directory_without_exec() {
  mkdir "$dir/tmp"
  cat > "$dir/noexec-lci" << EOF
#!/usr/bin/env bash
exec unshare -m bash -c 'mount -t tmpfs -o noexec,size=64m none "$dir/tmp" && exec "\$0" "\$@"' "$lci" "\$@"
EOF
  chmod +x "$dir/noexec-lci"
  in_namespace "mount -t tmpfs -o noexec,size=1m none '$dir/tmp'"
  LCI_JAVA_OPTS="-Djava.io.tmpdir=$dir/tmp -Djna.tmpdir=$dir/tmp" run_kmer "$dir/noexec-lci" "$genome"
  refused "$dir/tmp"
}

test_small_dev_shm_is_enough() {
  in_namespace "mount -t tmpfs -o size=1m none /dev/shm"
  cat > "$dir/small-lci" << EOF
#!/usr/bin/env bash
exec unshare -m bash -c 'mount -t tmpfs -o size=64m none /dev/shm && exec "\$0" "\$@"' "$lci" "\$@"
EOF
  chmod +x "$dir/small-lci"
  run_kmer "$dir/small-lci" -k 31 --histogram "$dir/histogram" "$genome"
  equal "$code" 0 "$err"
  [[ -s $dir/histogram ]] || fail "no histogram"
}

run_tests
